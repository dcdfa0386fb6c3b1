/**
 * How long to wait before a server that has ended is started again: longer each time, and from the start once it has run well.
 */
export class BackOff {
  private failures = 0;
  private startedAt: number | undefined;

  constructor(
    private readonly firstMs = 1000,
    private readonly longestMs = 60_000,
    /** A server that has run this long was well. */
    private readonly wellMs = 60_000,
    /** Ends in a row after which it is left to the person. */
    private readonly most = 8,
  ) {}

  started(now: number): void {
    this.startedAt = now;
  }

  /** The time to wait before the next start; undefined if it is not tried any more. */
  ended(now: number): number | undefined {
    if (this.startedAt !== undefined && now - this.startedAt >= this.wellMs) {
      this.failures = 0;
    }
    this.startedAt = undefined;
    this.failures += 1;
    return this.failures > this.most ? undefined : Math.min(this.firstMs * 2 ** (this.failures - 1), this.longestMs);
  }

  /** The person wants it to run: all is forgotten. */
  reset(): void {
    this.failures = 0;
    this.startedAt = undefined;
  }
}
