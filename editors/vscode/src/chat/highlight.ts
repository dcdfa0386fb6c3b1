/**
 * Colours for code, roughly and quickly: comments, texts, numbers, words of the language, names that are called. It does not know
 * grammars; what it does not know stays as it is.
 */
export type Kind = "comment" | "string" | "number" | "keyword" | "function" | "type" | "added" | "removed" | "meta";

export interface Part {
  readonly text: string;
  readonly kind?: Kind;
}

/** More than this is shown without colours. */
const MOST = 50_000;

interface Language {
  readonly keywords: ReadonlySet<string>;
  readonly lineComment: readonly string[];
  readonly blockComment?: readonly [string, string];
  readonly quotes: string;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const C_LIKE = "break case const continue default do else enum extern false for goto if inline int long null nullptr return short signed sizeof static struct switch true typedef union unsigned void volatile while char float double bool class public private protected virtual override final new delete this template typename using namespace try catch throw auto constexpr operator friend";

const python: Language = { keywords: words("and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case self"), lineComment: ["#"], quotes: "\"'" };
const script: Language = { keywords: words("abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface is keyof let namespace never new null number of private protected public readonly return set static string super switch symbol this throw true try type typeof undefined unknown var void while with yield"), lineComment: ["//"], blockComment: ["/*", "*/"], quotes: "\"'`" };
const rust: Language = { keywords: words("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize"), lineComment: ["//"], blockComment: ["/*", "*/"], quotes: "\"" };
const c: Language = { keywords: words(C_LIKE), lineComment: ["//"], blockComment: ["/*", "*/"], quotes: "\"'" };
const java: Language = { keywords: words(`${C_LIKE} abstract boolean byte extends final finally fun implements import in instanceof interface internal is native object open package string super synchronized throws transient val var when yield record sealed async await foreach get set let func guard defer go chan map range type interface select fallthrough nil protocol extension init`), lineComment: ["//"], blockComment: ["/*", "*/"], quotes: "\"'`" };
const shell: Language = { keywords: words("if then else elif fi for in do done while until case esac function return local export readonly set unset source exit cd echo sudo"), lineComment: ["#"], quotes: "\"'" };
const data: Language = { keywords: words("true false null yes no on off"), lineComment: ["#", "//", ";"], quotes: "\"'" };
const json: Language = { keywords: words("true false null"), lineComment: ["//"], quotes: "\"" };
const sql: Language = { keywords: words("select from where and or not insert into values update set delete create table drop alter add join left right inner outer on group by order limit offset having union all distinct as null is in like between exists primary key foreign references index view begin commit rollback SELECT FROM WHERE AND OR NOT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE DROP ALTER ADD JOIN LEFT RIGHT INNER OUTER ON GROUP BY ORDER LIMIT OFFSET HAVING UNION ALL DISTINCT AS NULL IS IN LIKE BETWEEN EXISTS PRIMARY KEY FOREIGN REFERENCES INDEX VIEW BEGIN COMMIT ROLLBACK"), lineComment: ["--"], blockComment: ["/*", "*/"], quotes: "'\"" };
const lua: Language = { keywords: words("and break do else elseif end false for function goto if in local nil not or repeat return then true until while"), lineComment: ["--"], blockComment: ["--[[", "]]"], quotes: "\"'" };
const ruby: Language = { keywords: words("alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require attr_accessor"), lineComment: ["#"], quotes: "\"'" };
const css: Language = { keywords: words("important inherit initial unset none auto"), lineComment: [], blockComment: ["/*", "*/"], quotes: "\"'" };

const LANGUAGES: Readonly<Record<string, Language>> = {
  py: python, python, python3: python,
  js: script, jsx: script, javascript: script, mjs: script, ts: script, tsx: script, typescript: script,
  rs: rust, rust,
  c, h: c, cpp: c, "c++": c, cc: c, hpp: c, objc: c,
  java, kt: java, kotlin: java, cs: java, csharp: java, "c#": java, go: java, golang: java, swift: java, scala: java, dart: java, php: java,
  sh: shell, bash: shell, zsh: shell, shell, console: shell, fish: shell, dockerfile: shell, make: shell, makefile: shell,
  yaml: data, yml: data, toml: data, ini: data, conf: data,
  json, jsonc: json, json5: json,
  sql, lua, rb: ruby, ruby, css, scss: css, less: css,
};

export function highlighted(code: string, language: string): Part[] {
  const name = language.toLowerCase();
  if (name === "diff" || name === "patch") {
    return lines(code);
  }
  const known = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  return known === undefined || code.length > MOST ? [{ text: code }] : scan(code, known);
}

function lines(code: string): Part[] {
  const kind = (line: string): Kind | undefined => (/^(\+\+\+|---|diff |index )/.test(line) ? "meta" : line.startsWith("@@") ? "meta" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : undefined);
  return code.split(/(?<=\n)/).map((text) => part(text, kind(text)));
}

function part(text: string, kind: Kind | undefined): Part {
  return kind === undefined ? { text } : { text, kind };
}

function scan(code: string, language: Language): Part[] {
  const parts: Part[] = [];
  let plain = "";
  const put = (text: string, kind: Kind | undefined): void => {
    if (kind === undefined) {
      plain += text;
      return;
    }
    if (plain !== "") {
      parts.push({ text: plain });
      plain = "";
    }
    parts.push({ text, kind });
  };
  const name = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
  const number = /(0[xXbBoO][\da-fA-F_]+|\d[\d_]*(\.\d+)?([eE][+-]?\d+)?)/y;
  let at = 0;
  while (at < code.length) {
    const end = commentEnd(code, at, language);
    if (end !== undefined) {
      put(code.slice(at, end), "comment");
      at = end;
      continue;
    }
    const sign = code.charAt(at);
    if (language.quotes.includes(sign)) {
      const close = textEnd(code, at, sign);
      put(code.slice(at, close), "string");
      at = close;
      continue;
    }
    name.lastIndex = at;
    const word = name.exec(code)?.[0];
    if (word !== undefined) {
      put(word, language.keywords.has(word) ? "keyword" : code.charAt(at + word.length) === "(" ? "function" : /^\p{Lu}\p{L}*\p{Ll}/u.test(word) ? "type" : undefined);
      at += word.length;
      continue;
    }
    number.lastIndex = at;
    const digits = number.exec(code)?.[0];
    put(digits ?? sign, digits === undefined ? undefined : "number");
    at += (digits ?? sign).length;
  }
  if (plain !== "") {
    parts.push({ text: plain });
  }
  return parts;
}

/** Where the comment that begins here ends; undefined if none begins here. */
function commentEnd(code: string, at: number, language: Language): number | undefined {
  const block = language.blockComment;
  if (block !== undefined && code.startsWith(block[0], at)) {
    const close = code.indexOf(block[1], at + block[0].length);
    return close < 0 ? code.length : close + block[1].length;
  }
  if (!language.lineComment.some((mark) => code.startsWith(mark, at))) {
    return undefined;
  }
  const close = code.indexOf("\n", at);
  return close < 0 ? code.length : close;
}

/** Where the text that begins here with a quote ends: at the same quote, three of them or one, else at the end of its line. */
function textEnd(code: string, at: number, quote: string): number {
  const triple = quote.repeat(3);
  if (code.startsWith(triple, at)) {
    const close = code.indexOf(triple, at + 3);
    return close < 0 ? code.length : close + 3;
  }
  for (let i = at + 1; i < code.length; i++) {
    const sign = code.charAt(i);
    if (sign === "\\") {
      i += 1;
    } else if (sign === quote) {
      return i + 1;
    } else if (sign === "\n" && quote !== "`") {
      return i;
    }
  }
  return code.length;
}
