/**
 * Work that somebody has taken back. No editor here, so that plain node can test it.
 */
export class Cancelled extends Error {
  constructor() {
    super("the call was cancelled");
  }
}

/** What of a cancellation token is needed here. */
export interface Token {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): unknown };
}

/**
 * What `work` comes to, unless it is taken back before: then nothing waits for it any more, and where it had not begun it does not.
 *
 * @throws Cancelled once the token says so
 */
export async function unlessCancelled<T>(token: Token, work: () => PromiseLike<T>): Promise<T> {
  if (token.isCancellationRequested) {
    throw new Cancelled();
  }
  let told: { dispose(): unknown } | undefined;
  try {
    return await Promise.race([
      work(),
      new Promise<never>((_, refuse) => { told = token.onCancellationRequested(() => { refuse(new Cancelled()); }); }),
    ]);
  } finally {
    told?.dispose();
  }
}
