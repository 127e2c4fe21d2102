import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { seededRandom } from "@klutch/kube-testing";
import { randomBase64, randomText } from "./widget.ts";

test("the same seed gives the same contents, another seed others", () => {
  assert.equal(randomBase64(seededRandom(1), 100), randomBase64(seededRandom(1), 100));
  assert.notEqual(randomBase64(seededRandom(1), 100), randomBase64(seededRandom(2), 100));
});

test("base64 contents hardly compress, text contents do", () => {
  const random = seededRandom(3);
  const [blob, text] = [randomBase64(random, 20_000), randomText(random, 20_000)];
  assert.deepEqual([blob.length, text.length], [20_000, 20_000]);
  assert.ok(gzipSync(blob).length > 14_500);
  assert.ok(gzipSync(text).length < 7_000);
});
