import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { splitLines } from "./lines.ts";

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
    await Promise.resolve();
  }
  yield bytes.subarray(at);
}

test("lines come out whole however the bytes are cut, also inside a character", async () => {
  const line = fc.string({ unit: "binary", minLength: 1 }).filter((text) => !text.includes("\n"));
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat(5)), async (lines, sizes) => {
      const bytes = new TextEncoder().encode(lines.map((text) => `${text}\n`).join(""));
      const wellFormed = lines.map((text) => text.toWellFormed());
      assert.deepEqual(await Array.fromAsync(splitLines(cut(bytes, sizes))), wellFormed);
    }),
  );
});

test("a stream that ends within a line is an error, not a short object", async () => {
  const bytes = new TextEncoder().encode('{"a":1}\n{"b":');
  await assert.rejects(Array.fromAsync(splitLines(cut(bytes, []))), { code: "Reset" });
});

test("an endless line is refused instead of filling the memory", async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      yield new Uint8Array(1000).fill(65);
      await Promise.resolve();
    }
  }
  await assert.rejects(Array.fromAsync(splitLines(endless(), 10_000)), { code: "Decode" });
});
