import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Readable, type Transform } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { test } from "node:test";
import fc from "fast-check";
import { deriveKey, opening, sealing, SealError } from "./sealing.ts";

const key = randomBytes(32);
const chunk = 64 * 1024 + 16;

async function through(transform: Transform, data: Buffer, step = 10_000): Promise<Buffer> {
  const pieces = Array.from({ length: Math.ceil(data.length / step) }, (_, index) =>
    data.subarray(index * step, (index + 1) * step),
  );
  const [whole] = await Promise.all([buffer(transform), pipeline(Readable.from(pieces), transform)]);
  return whole;
}

test("what was sealed opens again, whatever its length and however it comes in pieces", async () => {
  const edge = 64 * 1024;
  const lengths = fc.oneof(
    fc.constantFrom(0, 1, edge - 1, edge, edge + 1, 2 * edge, 3 * edge + 5),
    fc.nat(200_000),
  );
  const step = fc.integer({ min: 1, max: 150_000 });
  await fc.assert(
    fc.asyncProperty(lengths, step, step, async (length, first, second) => {
      const data = randomBytes(length);
      const sealed = await through(sealing(key), data, Math.max(first, 100));
      assert.ok((await through(opening(key), sealed, Math.max(second, 100))).equals(data));
    }),
    { numRuns: 60 },
  );
});

test("one changed, cut, exchanged, doubled or added byte or chunk is noticed", async () => {
  const data = randomBytes(3 * 64 * 1024 + 100);
  const sealed = await through(sealing(key), data);
  const at = (index: number): Buffer => sealed.subarray(index * chunk, (index + 1) * chunk);
  const flipped = Buffer.from(sealed);
  flipped.writeUInt8(flipped.readUInt8(chunk + 7) ^ 1, chunk + 7);
  const lies: Readonly<Record<string, Buffer>> = {
    flipped,
    "cut in a chunk": sealed.subarray(0, -1),
    "cut between chunks": sealed.subarray(0, 3 * chunk),
    "without its begin": sealed.subarray(chunk),
    "two exchanged": Buffer.concat([at(1), at(0), at(2), at(3)]),
    "one doubled": Buffer.concat([at(0), at(0), at(1), at(2), at(3)]),
    "something behind": Buffer.concat([sealed, Buffer.from("x")]),
    empty: Buffer.alloc(0),
  };
  for (const [name, lie] of Object.entries(lies))
    await assert.rejects(through(opening(key), lie), SealError, name);
  await assert.rejects(through(opening(randomBytes(32)), sealed), SealError, "another key");
});

test("a key follows from secret, salt and purpose, and from each of them", () => {
  const salt = Buffer.alloc(32, 1);
  const one = deriveKey("secret", salt, "backup 1");
  assert.equal(one.length, 32);
  assert.ok(one.equals(deriveKey("secret", salt, "backup 1")));
  for (const other of [
    deriveKey("secre", salt, "backup 1"),
    deriveKey("secret", Buffer.alloc(32, 2), "backup 1"),
    deriveKey("secret", salt, "backup 2"),
  ])
    assert.ok(!one.equals(other));
});
