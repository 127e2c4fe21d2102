import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { inPieces, pieceBytes, send, type Sink } from "./reader.ts";

const nothing: Disposable = { [Symbol.dispose]: () => undefined };

/** A reader that takes a number of pieces, and then none until `drain`. */
function readerOf(pieces: number, more: Partial<Sink> = {}) {
  const written: Uint8Array[] = [];
  const waits = Promise.withResolvers<void>();
  const sink: Sink = {
    signal: new AbortController().signal,
    write: (bytes) => written.push(bytes) < pieces,
    drained: () => waits.promise,
    hold: () => nothing,
    ...more,
  };
  return { sink, written, drain: waits.resolve };
}

test("small buffers go together, and a large one in parts that are not copied", () => {
  const small = Array.from({ length: 100 }, (_, index) => Buffer.alloc(1_000, index));
  const large = Buffer.alloc(3 * pieceBytes + 7, "x");
  const pieces = [...inPieces([...small, large, Buffer.from("end")])];
  assert.deepEqual(Buffer.concat(pieces), Buffer.concat([...small, large, Buffer.from("end")]));
  assert.ok(pieces.every(({ length }) => length > 0 && length <= pieceBytes));
  assert.equal(pieces.filter(({ buffer }) => buffer === large.buffer).length, 4);
  assert.equal(pieces.length, 7);
  assert.deepEqual([...inPieces([])], []);
});

test("a reader that takes nothing is waited for with one piece written, and cut off after 30 seconds", async () => {
  const clock = new VirtualClock();
  const { sink, written } = readerOf(1);
  let sent: boolean | undefined;
  void send(sink, clock, [Buffer.alloc(10 * pieceBytes)]).then((isTaken) => (sent = isTaken));
  await clock.advance(29_999);
  assert.deepEqual([written.length, sent], [1, undefined]);
  await clock.advance(1);
  assert.deepEqual([written.length, sent], [1, false]);
});

test("a reader whose account leaves too much unread is cut off at once, and one that reads on holds nothing", async () => {
  const clock = new VirtualClock();
  const full = readerOf(1, { hold: () => undefined });
  assert.equal(await send(full.sink, clock, [Buffer.alloc(10 * pieceBytes)]), false);
  assert.equal(full.written.length, 1);
  let held = 0;
  const hold = (): Disposable => {
    held++;
    return { [Symbol.dispose]: () => held-- };
  };
  const slow = readerOf(1, { hold });
  const sent = send(slow.sink, clock, [Buffer.alloc(2 * pieceBytes)]);
  assert.equal(held, 1);
  slow.drain();
  assert.equal(await sent, true);
  assert.deepEqual([slow.written.length, held], [2, 0]);
});
