/**
 * What the composer has handed over and not heard of yet. What could not be sent comes back whole: words, pictures, and what was
 * picked for the turn. No page here, so that plain node can test it.
 */
import type { Choices } from "./wire";

export interface Draft {
  readonly text: string;
  /** As `data:` addresses. */
  readonly images: readonly string[];
  readonly choices: Choices;
}

/** A message before what was written since, whose picks win. */
export function joined(message: Draft, now: Draft): Draft {
  const parts = [message.text, now.text].filter((text) => text.trim() !== "");
  return { text: parts.join("\n\n"), images: [...message.images, ...now.images], choices: { ...message.choices, ...now.choices } };
}

export class Outbox {
  private readonly waiting = new Map<number, Draft>();
  private last = 0;

  /** Keeps a draft until its fate is known; under the number by which it is told. */
  put(draft: Draft): number {
    this.last += 1;
    this.waiting.set(this.last, draft);
    return this.last;
  }

  /** It is with the server. */
  done(token: number): void {
    this.waiting.delete(token);
  }

  /** What is in the composer once the draft is back beside what was written since. Undefined for a number that nothing waits under. */
  back(token: number, now: Draft): Draft | undefined {
    const draft = this.waiting.get(token);
    if (draft === undefined) {
      return undefined;
    }
    this.waiting.delete(token);
    return joined(draft, now);
  }
}
