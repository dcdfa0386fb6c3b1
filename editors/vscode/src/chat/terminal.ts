/**
 * Output of a command as a terminal would leave it on the screen, as far as plain lines go: colours are kept, a line that is written
 * over is written over, and everything that moves about or asks the terminal something is left out.
 */
export interface Span {
  readonly text: string;
  /** Classes such as `fg-1` or `bold`; none for plain text. */
  readonly classes: readonly string[];
}

interface Cell {
  text: string;
  style: string;
}

/** Lines of a long output that are drawn: its first, and its last. */
const FIRST = 100;
const LAST = 300;

/** What the server puts in the place of what it has cut out. */
const CUT_OUT = /^\[… \d+ bytes(?:, (\d+) lines?)? cut out …\]\r?$/gm;

/** The first and the last lines of an output, drawn, and how many there are between: those cost nothing but counting. */
export function screen(output: string, { first = FIRST, last = LAST } = {}): Span[] {
  const ends = [...output.matchAll(/\n/g)].map(({ index }) => index + 1);
  const left = ends.length + 1 - first - last;
  const [begins, goesOn] = [ends[first - 1] ?? 0, ends[ends.length - last] ?? 0];
  if (left <= 0) {
    return spans(drawn(output, "").lines);
  }
  const head = drawn(output.slice(0, begins), "");
  const between = output.slice(begins, goesOn);
  const styled = [...between.matchAll(/\u001b\[([0-9;:]*)m/g)].reduce((style, [, parameters]) => restyled(style, parameters ?? ""), head.style); // eslint-disable-line no-control-regex
  const more = [...between.matchAll(CUT_OUT)].reduce((lines, [, cut]) => lines + Number(cut ?? 0) - 1, left);
  const said: Span = { text: `\n[… ${more === 1 ? "1 line is" : `${more} lines are`} not shown here …]\n`, classes: ["dim"] };
  return [...spans(head.lines.slice(0, -1)), said, ...spans(drawn(output.slice(goesOn), styled).lines)];
}

/** The lines of a text that begins in a style, and the style at its end. */
function drawn(output: string, begins: string): { lines: Cell[][]; style: string } {
  const lines: Cell[][] = [[]];
  let column = 0;
  let style = begins;
  // Operating-system commands (titles, links), then control sequences, then all other escapes.
  // eslint-disable-next-line no-control-regex
  const pieces = output.matchAll(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b[P^_X][^\u001b]*(?:\u001b\\|$)|\u001b\[([0-9;:?<=>]*)[ -/]*([@-~]|$)|\u001b[ -/]*[0-~]?|\r\n|[\u0000-\u001f\u007f]|[^\u0000-\u001f\u007f]+/g);
  for (const [piece, parameters, final] of pieces) {
    const line = lines.at(-1) ?? [];
    if (piece === "\n" || piece === "\r\n") {
      lines.push([]);
      column = 0;
    } else if (piece === "\r") {
      column = 0;
    } else if (piece === "\b") {
      column = Math.max(0, column - 1);
    } else if (piece === "\t") {
      const stop = 8 - (column % 8);
      column = write(line, column, " ".repeat(stop), style);
    } else if (final === "m") {
      style = restyled(style, parameters ?? "");
    } else if (final === "K") {
      line.splice(parameters === "1" || parameters === "2" ? 0 : column);
    } else if (!/^[\u0000-\u001f\u007f]/.test(piece)) { // eslint-disable-line no-control-regex
      column = write(line, column, piece, style);
    }
  }
  return { lines, style };
}

function write(line: Cell[], column: number, text: string, style: string): number {
  let at = column;
  while (line.length < at) {
    line.push({ text: " ", style: "" });
  }
  for (const sign of text) {
    line[at] = { text: sign, style };
    at += 1;
  }
  return at;
}

/** The style after a sequence `ESC [ … m`; classes joined by blanks. */
function restyled(style: string, parameters: string): string {
  const classes = new Set(style.split(" ").filter(Boolean));
  const drop = (prefix: string): void => {
    for (const one of classes) {
      if (one.startsWith(prefix)) classes.delete(one);
    }
  };
  const codes = parameters.split(/[;:]/).map(Number);
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) classes.clear();
    else if (code === 1) classes.add("bold");
    else if (code === 2) classes.add("dim");
    else if (code === 3) classes.add("italic");
    else if (code === 4) classes.add("underline");
    else if (code === 22) { classes.delete("bold"); classes.delete("dim"); }
    else if (code === 23) classes.delete("italic");
    else if (code === 24) classes.delete("underline");
    else if (code === 39) drop("fg-");
    else if (code === 38 || code === 48) {
      // Other palettes: of 256 colours the first sixteen are the terminal's own.
      if (codes[i + 1] === 5) {
        const colour = codes[i + 2] ?? 99;
        if (code === 38 && colour < 16) { drop("fg-"); classes.add(`fg-${colour}`); }
        i += 2;
      } else if (codes[i + 1] === 2) {
        i += 4;
      }
    } else if (code >= 30 && code <= 37) { drop("fg-"); classes.add(`fg-${code - 30}`); }
    else if (code >= 90 && code <= 97) { drop("fg-"); classes.add(`fg-${code - 82}`); }
  }
  return [...classes].join(" ");
}

function spans(lines: readonly Cell[][]): Span[] {
  const all: { text: string; style: string }[] = [];
  lines.forEach((line, i) => {
    const cells = i < lines.length - 1 ? [...line, { text: "\n", style: "" }] : line;
    for (const cell of cells) {
      const last = all.at(-1);
      if (last !== undefined && (last.style === cell.style || cell.text === "\n")) {
        last.text += cell.text;
      } else {
        all.push({ ...cell });
      }
    }
  });
  return all.map(({ text, style }) => ({ text, classes: style.split(" ").filter(Boolean) }));
}
