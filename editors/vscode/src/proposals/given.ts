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

  /** Whether what the editor shows now is what it was given a while ago, and not what a person has typed, or has come to by undo or redo. */
  isLate(text: string, { isDirty, isUndo }: { readonly isDirty: boolean; readonly isUndo: boolean }): boolean {
    return !isDirty && !isUndo && this.texts.includes(text);
  }
}
