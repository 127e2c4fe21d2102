import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { byteLines, FormError, readList, readWatchLine } from "./json-bytes.ts";

const object = (name: string, more: object = {}): object => ({
  apiVersion: "a.b/v1",
  kind: "Widget",
  metadata: { name, namespace: "n", resourceVersion: "7" },
  ...more,
});

test("items of a list keep their bytes, whatever stands in their texts and keys", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), (values) => {
      const items = values.map((spec, index) => object(`o${index}`, { spec, items: [{ items: [spec] }] }));
      const metadata = { resourceVersion: "9", continue: "", annotations: { '"items":[': "]}" } };
      const text = JSON.stringify({ apiVersion: "a.b/v1", items, kind: "WidgetList", metadata });
      const list = readList(Buffer.from(text));
      assert.deepEqual(
        list.items.map(({ object: bytes }) => bytes.toString()),
        items.map((item) => JSON.stringify(item)),
      );
      assert.deepEqual([list.kind, list.resourceVersion, list.continueToken], ["WidgetList", 9, ""]);
    }),
    { numRuns: 200 },
  );
});

test("numbers that JavaScript cannot hold keep their digits", () => {
  const text = `{"apiVersion":"a.b/v1","items":[{"apiVersion":"a.b/v1","kind":"W","metadata":{"name":"x","resourceVersion":"3"},"spec":{"n":12345678901234567890,"f":1.0}}],"kind":"WList","metadata":{"resourceVersion":"4"}}`;
  assert.match(
    readList(Buffer.from(text)).items[0]?.object.toString() ?? "",
    /12345678901234567890,"f":1\.0/,
  );
});

test("a line of a watch is its type, its object and nothing else", () => {
  const body = JSON.stringify(object("x"));
  const read = readWatchLine(Buffer.from(`{"type":"DELETED","object":${body}}\n`));
  assert.ok(read.type === "DELETED");
  assert.equal(read.object.toString(), body);
  assert.deepEqual(read.identity, { namespace: "n", name: "x", resourceVersion: 7 });
  for (const wrong of [
    `{"object":${body},"type":"ADDED"}\n`,
    `{"type":"ADDED","object":${body},"more":{}}\n`,
    `{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"1e3"}}}\n`,
    `{"type":"SAID","object":${body}}\n`,
    "nothing\n",
  ])
    assert.throws(() => readWatchLine(Buffer.from(wrong)), FormError, wrong);
});

test("lines come whole, however the bytes are cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.string({ unit: "grapheme", minLength: 1 }).map((text) => text.replaceAll("\n", "x")),
        { maxLength: 8 },
      ),
      fc.integer({ min: 1, max: 7 }),
      async (lines, size) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        async function* chunks(): AsyncGenerator<Uint8Array> {
          for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
        }
        const read: string[] = [];
        for await (const line of byteLines(chunks())) read.push(line.toString().slice(0, -1));
        assert.deepEqual(read, lines);
      },
    ),
    { numRuns: 100 },
  );
});

test("a line that has no end is given up", async () => {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(1000, 0x61);
  }
  await assert.rejects(byteLines(chunks(), 5_000).next(), /longer than 5000 bytes/);
});
