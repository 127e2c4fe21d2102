import assert from "node:assert/strict";
import { test } from "node:test";
import { readAtMost } from "./http.ts";

test("of an answer without an end no more is read than its limit", async () => {
  let given = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      given += 1024;
      controller.enqueue(new Uint8Array(1024).fill(120));
    },
  });
  assert.equal(await readAtMost(new Response(endless), 16 * 1024), undefined);
  assert.ok(given <= 32 * 1024, `${given} bytes were taken`);
  assert.equal(await readAtMost(new Response("ä".repeat(100)), 100), "ä".repeat(100));
});
