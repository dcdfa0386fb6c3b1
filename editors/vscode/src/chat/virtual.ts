/**
 * The arithmetic of a list of which only the visible part is drawn: heights of rows, where each begins, which are in view. All
 * in O(log n), so that ten thousand rows cost no more than ten.
 */
export class Heights {
  private heights: number[] = [];
  /** A Fenwick tree over the heights. */
  private tree: number[] = [0];

  get count(): number {
    return this.heights.length;
  }

  get total(): number {
    return this.offset(this.count);
  }

  /** Takes these heights in the place of all before. */
  reset(heights: readonly number[]): void {
    this.heights = [];
    this.tree = [0];
    heights.forEach((height) => { this.push(height); });
  }

  push(height: number): void {
    this.heights.push(height);
    const i = this.heights.length;
    let sum = height;
    // What the new node sums up beside its own.
    for (let j = i - 1; j > i - (i & -i); j -= j & -j) {
      sum += this.tree[j] ?? 0;
    }
    this.tree.push(sum);
  }

  height(row: number): number {
    return this.heights[row] ?? 0;
  }

  /** Gives a row its height; the difference to the one before. */
  set(row: number, height: number): number {
    const before = this.heights[row];
    if (before === undefined || before === height) {
      return 0;
    }
    this.heights[row] = height;
    for (let i = row + 1; i < this.tree.length; i += i & -i) {
      this.tree[i] = (this.tree[i] ?? 0) + height - before;
    }
    return height - before;
  }

  /** Where a row begins: the sum of all before it. */
  offset(row: number): number {
    let sum = 0;
    for (let i = Math.min(Math.max(row, 0), this.count); i > 0; i -= i & -i) {
      sum += this.tree[i] ?? 0;
    }
    return sum;
  }

  /** The row at this distance from the top; the last one for what lies below all. */
  at(y: number): number {
    let row = 0;
    let left = y;
    for (let step = 2 ** Math.floor(Math.log2(Math.max(this.count, 1))); step >= 1; step /= 2) {
      const sum = this.tree[row + step];
      if (row + step <= this.count && sum !== undefined && sum <= left) {
        row += step;
        left -= sum;
      }
    }
    return Math.max(0, Math.min(row, this.count - 1));
  }

  /** The rows to draw, half open, for a view that begins at `top`; with as much again on both sides. */
  window(top: number, height: number, beyond = height / 2): { first: number; end: number } {
    if (this.count === 0) {
      return { first: 0, end: 0 };
    }
    const first = this.at(Math.max(0, top - beyond));
    const end = this.at(Math.max(0, top + height + beyond)) + 1;
    return { first, end };
  }
}
