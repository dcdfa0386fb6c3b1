/**
 * Going through what was typed before with the arrow keys. What is being written comes back at the end.
 */
export class InputHistory {
  private at = 0;
  private draft = "";

  /** `entries`: newest first. */
  constructor(private entries: readonly string[] = []) {}

  load(entries: readonly string[]): void {
    this.entries = entries;
    this.reset();
  }

  add(text: string): void {
    if (text.trim() !== "") {
      this.entries = [text, ...this.entries.filter((one) => one !== text)];
    }
    this.reset();
  }

  reset(): void {
    this.at = 0;
    this.draft = "";
  }

  /** The entry before; undefined at the oldest. */
  older(current: string): string | undefined {
    const entry = this.entries[this.at];
    if (entry === undefined) {
      return undefined;
    }
    if (this.at === 0) {
      this.draft = current;
    }
    this.at += 1;
    return entry;
  }

  /** The entry after, at last what was being written; undefined if there is nothing after. */
  newer(): string | undefined {
    if (this.at === 0) {
      return undefined;
    }
    this.at -= 1;
    return this.at === 0 ? this.draft : this.entries[this.at - 1];
  }
}
