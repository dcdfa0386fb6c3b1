/**
 * Finding words in what was said. No page here, so that plain node can test it.
 */
import type { Row } from "./view";
import { textOf } from "./words";

/** The keys of the rows that have these words, whatever the case, from the first to the last. */
export function found(rows: readonly Row[], words: string): string[] {
  const wanted = words.trim().toLowerCase();
  return wanted === "" ? [] : rows.filter((row) => said(row).toLowerCase().includes(wanted)).map(({ key }) => key);
}

/** What is searched of a row: what somebody said. What was run and changed has its place between. */
function said({ body }: Row): string {
  switch (body.kind) {
    case "item":
      return body.item.type === "userMessage" ? textOf(body.item.content) : body.item.type === "agentMessage" ? body.item.text : "";
    case "error":
      return body.error.message;
    case "note":
      return body.text;
    case "unanswered":
      return textOf(body.input);
    case "question":
      return "";
  }
}
