import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readReply, type Reply, ReplyError } from "./resp.ts";

function encoded(reply: Reply): string {
  if (reply === null) return "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  return `*${reply.length}\r\n${reply.map(encoded).join("")}`;
}

const { reply } = fc.letrec<{ reply: Reply }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 3 },
    fc.string({ unit: "binary" }),
    fc.integer(),
    fc.constant(null),
    fc.array(tie("reply"), { maxLength: 4 }),
  ),
}));

test("every reply is read as it was, once it is whole, and what follows it is left alone", () => {
  fc.assert(
    fc.property(reply, fc.nat(), (value, cut) => {
      const bytes = Buffer.from(encoded(value));
      assert.equal(readReply(bytes.subarray(0, cut % bytes.length), 0), undefined);
      assert.deepEqual(readReply(Buffer.concat([bytes, Buffer.from("+OK")]), 0), {
        value,
        end: bytes.length,
      });
    }),
  );
});

test("an error is told from a text, and another protocol is no reply", () => {
  const error = readReply(Buffer.from("-NOPERM you may not\r\n"), 0)?.value;
  assert.ok(error instanceof ReplyError && error.message === "NOPERM you may not");
  assert.deepEqual(readReply(Buffer.from("+OK\r\n"), 0), { value: "OK", end: 5 });
  for (const text of ["HTTP/1.1 400\r\n", "$x\r\n", "$99999999999999999999\r\n", ":\r\n", "*1.5\r\n"])
    assert.throws(() => readReply(Buffer.from(text), 0), /another protocol/, text);
});
