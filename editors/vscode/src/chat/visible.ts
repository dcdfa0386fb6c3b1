/**
 * Text of others with what hides in it written by its number: `<U+202E>`. The same functions as the server's (`src/shown`), on
 * tables that its tests write; a corpus holds them together.
 */
import { KINDS, RANGES, type Kind } from "./characters";

const JOINER = 0x200d;
const NON_JOINER = 0x200c;
const TEXT_STYLE = 0xfe0e;
const EMOJI_STYLE = 0xfe0f;
const KEYCAP = 0x20e3;
const BLACK_FLAG = 0x1f3f4;
const TAGS = 0xe0000;
const TAG_END = 0xe007f;
/** The regions that have a flag of tag characters; all others are hidden text behind a flag. */
const FLAGS: ReadonlySet<string> = new Set(["gbeng", "gbsct", "gbwls"]);
/** Marks on one letter, and on one of a script that stacks them. */
const MOST_MARKS = 3;
const MOST_MARKS_OF_STACKS = 8;
/** Blanks in a row before they are counted, and what indents a line. */
const MOST_BLANKS = 3;
const MOST_INDENT = 40;

const PLAIN: Kind = {};
const known = new Map<number, Kind>();

function kindOf(code: number): Kind {
  let kind = known.get(code);
  if (kind === undefined) {
    kind = find(code);
    known.set(code, kind);
  }
  return kind;
}

function find(code: number): Kind {
  let [low, high] = [0, RANGES.length / 3 - 1];
  while (low <= high) {
    const at = (low + high) >> 1;
    const [first = 0, last = 0, kind = 0] = RANGES.slice(3 * at, 3 * at + 3);
    if (code < first) high = at - 1;
    else if (code > last) low = at + 1;
    else return KINDS[kind - 1] ?? PLAIN;
  }
  return PLAIN;
}

/** Whether a mark may stand on a base: few fonts show one of another script. */
function belongs(mark: Kind, base: Kind): boolean {
  return mark.scripted === undefined || (mark.scripts ?? []).some((script) => base.scripts?.includes(script));
}

function isTag(code: number): boolean {
  return code >= TAGS + 0x20 && code <= TAG_END;
}

class Shown {
  text = "";
  /** The last letter or sign that is no mark, the last character that stayed as it is, and the marks since the base. */
  private base: number | undefined;
  private last: number | undefined;
  private marks = 0;
  /** What is known only by what follows: a joiner, a style of a digit, the tags of a flag. */
  private held: number[] = [];

  one(code: number): void {
    if (this.held.length > 0 && this.settle(code)) return;
    const kind = kindOf(code);
    if (kind.mark) {
      this.mark(code, kind);
    } else if (kind.hides) {
      this.hidden(code);
    } else if (kind.blank) {
      this.escape(code);
    } else {
      this.keep(code);
      // A skin belongs to what it is put on.
      if (!kind.skin || this.base === undefined) [this.base, this.marks] = [code, 0];
    }
  }

  release(): void {
    const held = this.held;
    this.held = [];
    for (const code of held) this.escape(code);
  }

  private keep(code: number): void {
    this.text += String.fromCodePoint(code);
    this.last = code;
  }

  /** What is shown by its number has an end that takes no marks. */
  private escape(code: number): void {
    this.text += written(code);
    [this.base, this.last, this.marks] = [0x3e, 0x3e, 0];
  }

  private mark(code: number, kind: Kind): void {
    const base = this.base === undefined ? undefined : kindOf(this.base);
    if (base !== undefined && this.marks < (base.stacks ? MOST_MARKS_OF_STACKS : MOST_MARKS) && belongs(kind, base)) {
      this.keep(code);
      this.marks += 1;
    } else {
      this.text += written(code);
    }
  }

  private hidden(code: number): void {
    const last = this.last;
    if (last === undefined) {
      this.escape(code);
      return;
    }
    const before = kindOf(last);
    const isKey = (last >= 0x30 && last <= 0x39) || last === 0x23 || last === 0x2a;
    if (code === JOINER || code === NON_JOINER || (code === EMOJI_STYLE && isKey) || (last === BLACK_FLAG && isTag(code))) {
      this.held.push(code);
    } else if (
      ((code === EMOJI_STYLE || code === TEXT_STYLE) && before.emoji) ||
      (((code >= 0xfe00 && code <= 0xfe02) || (code >= 0xe0100 && code <= 0xe01ef)) && before.ideograph) ||
      (code >= 0x180b && code <= 0x180f && before.mongolian)
    ) {
      this.keep(code);
    } else {
      this.escape(code);
    }
  }

  /** Decides on what is held, now that what follows is there. Says whether that was taken, too. */
  private settle(next: number): boolean {
    const first = this.held[0] ?? 0;
    let stays = false;
    if (first === JOINER || first === NON_JOINER) {
      stays = this.joins(first, kindOf(next));
    } else if (first === EMOJI_STYLE) {
      stays = next === KEYCAP;
    } else if (isTag(next)) {
      this.held.push(next);
      if (next === TAG_END) this.flag();
      return true;
    }
    if (stays) {
      this.keep(first);
      this.held = [];
    } else {
      this.release();
    }
    return false;
  }

  private flag(): void {
    const region = this.held.map((code) => String.fromCodePoint(code - TAGS)).join("");
    if (!FLAGS.has(region.slice(0, -1))) {
      this.release();
      return;
    }
    this.text += String.fromCodePoint(...this.held);
    this.held = [];
  }

  /** Whether a joiner is one: between two pictures, between letters that join, beside the sign that joins letters of the scripts of India. */
  private joins(joiner: number, next: Kind): boolean {
    if (this.base === undefined || this.last === undefined) return false;
    const base = kindOf(this.base);
    const picture = joiner === JOINER && base.picture && next.picture;
    const conjunct = base.letter && (kindOf(this.last).virama || next.virama);
    return Boolean(picture || conjunct || (base.joins && next.joins));
  }
}

function written(code: number): string {
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** A part of a line. */
function part(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  const shown = new Shown();
  for (const char of text) shown.one(char.codePointAt(0) ?? 0);
  shown.release();
  return shown.text;
}

/** Text of one or several lines in which blanks, line ends and tabs stay as they are. */
export function visibleText(text: string): string {
  return text.replace(/[^\n\t]+/g, part);
}

/** One line in which no two texts look the same for their blanks, or what does not show. */
function exact(line: string): string {
  return part(line).replace(/ +/g, (blanks, at: number, all: string) => {
    const counted = blanks.length > MOST_BLANKS || at === 0 || at + blanks.length === all.length;
    return counted ? (blanks.length === 1 ? "<1 blank>" : `<${blanks.length} blanks>`) : blanks;
  });
}

/** What a person decides on, of one or several lines: each with its blanks counted, but for what indents it. */
export function visible(text: string): string {
  return text
    .split("\n")
    .map((line) => {
      const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
      return indent.length === line.length || indent.length > MOST_INDENT ? exact(line) : indent + exact(line.slice(indent.length));
    })
    .join("\n");
}

/** Whether something in a text hides. */
export function hides(text: string): boolean {
  return visibleText(text) !== text;
}
