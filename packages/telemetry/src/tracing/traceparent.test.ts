import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatTraceparent, parseTraceparent } from "./traceparent.ts";

const traceID = "0af7651916cd43dd8448eb211c80319c";
const spanID = "b7ad6b7169203331";

test("a traceparent of version 00 is read, and written the same", () => {
  const text = `00-${traceID}-${spanID}-01`;
  assert.deepEqual(parseTraceparent(text), { traceID, spanID, isSampled: true });
  assert.equal(formatTraceparent({ traceID, spanID, isSampled: true }), text);
  assert.equal(parseTraceparent(`00-${traceID}-${spanID}-00`)?.isSampled, false);
});

test("anything else is dropped", () => {
  for (const forged of [
    undefined,
    null,
    7,
    {},
    [`00-${traceID}-${spanID}-01`],
    "",
    "x".repeat(10_000),
    `00-${traceID}-${spanID}-01`.repeat(200),
    `00-${traceID}-${spanID}-01\n`,
    ` 00-${traceID}-${spanID}-01`,
    `00-${traceID}-${spanID}-0`,
    `01-${traceID}-${spanID}-01`,
    `ff-${traceID}-${spanID}-01`,
    `00-${traceID.toUpperCase()}-${spanID}-01`,
    `00-${"0".repeat(32)}-${spanID}-01`,
    `00-${traceID}-${"0".repeat(16)}-01`,
    `00-${traceID}-${spanID}-zz`,
    `00-${traceID.replace("a", "g")}-${spanID}-01`,
    `00_${traceID}_${spanID}_01`,
    `00-${traceID.replace("a", "а")}-${spanID}-01`,
  ])
    assert.equal(parseTraceparent(forged), undefined, JSON.stringify(forged)?.slice(0, 80));
});

test("nothing that is read can hold more than hexadecimal digits", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ minLength: 55, maxLength: 55 })), (text) => {
      const read = parseTraceparent(text);
      if (read !== undefined) assert.match(`${read.traceID}${read.spanID}`, /^[0-9a-f]{48}$/);
    }),
  );
});
