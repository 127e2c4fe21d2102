import assert from "node:assert/strict";
import { test } from "node:test";
import { longestMessage, readMessage, SyslogFault, SyslogFrames } from "./syslog.ts";

const now = new Date("2026-11-29T04:00:00Z");

test("a message of RFC 5424 has its parts, and its own time", () => {
  const line =
    '<165>1 2026-11-29T03:00:00.003+01:00 shop.example.org cart 8710 ID47 [a@1 k="x \\" ] y"][b@1] grüße\nsecond';
  assert.deepEqual(readMessage(line, now), {
    "@timestamp": "2026-11-29T02:00:00.003Z",
    facility: 20,
    severity: 5,
    hostname: "shop.example.org",
    appname: "cart",
    procid: "8710",
    msgid: "ID47",
    structured_data: '[a@1 k="x \\" ] y"][b@1]',
    message: "grüße\nsecond",
  });
  const least = readMessage("<0>1 - - - - - -", now);
  assert.deepEqual(least, { "@timestamp": now.toISOString(), facility: 0, severity: 0, message: "" });
});

test("anything else is kept as text, also with a priority or a time that does not exist", () => {
  for (const line of ["hello", "<34>Oct 11 22:14:15 host su: failed", "<192>1 - - - - - - x", '{"index":{}}'])
    assert.deepEqual(readMessage(line, now), { "@timestamp": now.toISOString(), message: line });
  assert.equal(readMessage("<1>1 2026-99-99T00:00:00Z h a - - - x", now)["@timestamp"], now.toISOString());
});

test("messages arrive in any pieces, with their length or as lines", () => {
  const sent = Buffer.from("6 grüßline one\r\n\n3 a\nbline two\n");
  for (let size = 1; size <= sent.length; size++) {
    const frames = new SyslogFrames();
    const seen: string[] = [];
    for (let at = 0; at < sent.length; at += size) seen.push(...frames.push(sent.subarray(at, at + size)));
    assert.deepEqual(seen, ["grüß", "line one", "a\nb", "line two"], `${size}`);
  }
});

test("a message that is too long ends the connection, announced or not", () => {
  for (const start of [`${longestMessage + 1} x`, "999999999 x", "x".repeat(longestMessage + 1)])
    assert.throws(() => new SyslogFrames().push(Buffer.from(start)), SyslogFault);
});
