/** The texts that an editor was given of a document. It shows each of them a moment later, when it may have been given the next already. */

/** How many reads an editor is behind at most. */
const LATEST = 8;

export class Given {
  /** Newest last. */
  private texts: string[] = [];

  add(text: string): void {
    if (this.texts.at(-1) !== text) {
      this.texts = [...this.texts.slice(1 - LATEST), text];
    }
  }

  has(text: string): boolean {
    return this.texts.includes(text);
  }
}
