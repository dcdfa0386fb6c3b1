import * as assert from "node:assert/strict";
import { test } from "node:test";
import { Cancelled, unlessCancelled } from "../src/cancelled";

class Source {
  isCancellationRequested = false;
  readonly listeners = new Set<() => void>();
  onCancellationRequested(listener: () => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => { this.listeners.delete(listener); } };
  }
  cancel(): void {
    this.isCancellationRequested = true;
    this.listeners.forEach((listener) => { listener(); });
  }
}

test("work that is taken back is not waited for, and what had not begun does not begin", async () => {
  const source = new Source();
  let begun = 0;
  const never = (): Promise<never> => {
    begun += 1;
    return new Promise<never>(() => undefined);
  };
  const waiting = unlessCancelled(source, never);
  source.cancel();
  await assert.rejects(waiting, Cancelled);
  await assert.rejects(unlessCancelled(source, never), Cancelled);
  assert.equal(begun, 1);
  assert.equal(source.listeners.size, 0);
});

test("work that is done gives what it came to, and its failure is its own", async () => {
  const source = new Source();
  assert.equal(await unlessCancelled(source, () => Promise.resolve(7)), 7);
  await assert.rejects(unlessCancelled(source, () => Promise.reject(new Error("no server"))), /no server/);
  assert.equal(source.listeners.size, 0);
});
