import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { excessIn, parsableList } from "./bounds.ts";
import { decodeList, parseJson } from "./decode.ts";

const mebibyte = 1024 * 1024;
/** Text of a list, one JSON text for each object. */
const listOf = (...items: readonly string[]): string =>
  `{"kind":"ThingList","metadata":{"resourceVersion":"7"},"items":[${items.join(",")}]}`;
const named = (name: string, more = ""): string => `{"metadata":{"name":"${name}"}${more}}`;
const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
/** Makes the text long enough to be looked at. */
const padding = `,"padding":"${"x".repeat(2_400_000)}"`;

test("text that is nested too deep, or has too many values, is not parsed, and says why", () => {
  assert.match(excessIn(deep(1.2 * mebibyte)) ?? "", /nested more than 200 levels/);
  assert.match(excessIn(`[${"[],".repeat(800_000)}[]]`) ?? "", /more than 400000 values/);
  assert.throws(() => parseJson(deep(1.2 * mebibyte), "get Thing a"), {
    code: "TooLarge",
    message: "get Thing a is nested more than 200 levels deep, so it is not read",
  });
});

test("whatever an honest server can hold in one object is parsed: long texts, many entries, brackets inside strings", () => {
  const quoted = JSON.stringify({ text: '[{"\\'.repeat(mebibyte / 2) });
  const entries = JSON.stringify(
    Object.fromEntries(Array.from({ length: 180_000 }, (_, at) => [`k${at}`, at])),
  );
  for (const text of [quoted, entries, `{"a":${deep(150)}${padding}}`]) {
    assert.ok(text.length > 2.25 * mebibyte);
    assert.equal(excessIn(text), undefined);
    assert.ok(JSON.stringify(parseJson(text, "object")) === text);
  }
});

test("one object of a list that must not be parsed is left out, and the others are read", () => {
  const told: string[] = [];
  const text = listOf(
    named("a"),
    named("deep", `,"status":${deep(400_000)}`),
    named("b", padding),
    named("many", `,"status":[${"[],".repeat(450_000)}[]]`),
    named("c"),
  );
  const { items, length } = decodeList(text, "list things", "Thing", (excess) => told.push(excess));
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["a", "b", "c"],
  );
  assert.equal(length, text.length);
  assert.deepEqual(told, ["is nested more than 200 levels deep", "has more than 400000 values"]);
});

test("a page whose objects have too many values together is too large, so that it is requested again with fewer", () => {
  const half = `${padding},"status":[${"1,".repeat(250_000)}1]`;
  assert.throws(() => decodeList(listOf(named("a", half), named("b", half)), "list things", "Thing"), {
    code: "TooLarge",
  });
  assert.equal(decodeList(listOf(named("a", half)), "list things", "Thing").items.length, 1);
});

test("a page that is nested beside its objects, or never closes, is refused", () => {
  const unclosed = `{"metadata":{}${padding},"items":[${"[".repeat(300_000)}`;
  assert.throws(() => decodeList(unclosed, "list things", "Thing"), { code: "Decode" });
  assert.throws(() => decodeList(deep(1.2 * mebibyte), "list things", "Thing"), { code: "Decode" });
  const metadata = `{"metadata":{"a":${deep(1.2 * mebibyte)}},"items":[]}`;
  assert.equal(decodeList(metadata, "list things", "Thing").items.length, 0);
});

test("of any list, whatever its strings hold, exactly the objects beyond a bound are cut out", () => {
  const leaf = fc.oneof(fc.string({ unit: "binary" }), fc.integer(), fc.constant(null), fc.boolean());
  const item = fc.record({
    metadata: fc.record({ name: fc.string() }),
    more: fc.array(leaf),
    isBad: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 20 }), (items) => {
      const texts = items.map(({ metadata, more, isBad }) =>
        JSON.stringify({ metadata, more, at: "DEEP" }).replace('"DEEP"', isBad ? deep(250) : deep(190)),
      );
      const text = `{"metadata":{},"items":[${texts.join(",")}]${padding}}`;
      const parsed: unknown = JSON.parse(parsableList(text, "list"));
      const good = items.map(({ metadata, isBad }) => (isBad ? null : metadata));
      const seen = (parsed as { items: readonly ({ metadata: object } | null)[] }).items;
      assert.deepEqual(
        seen.map((one) => one?.metadata ?? null),
        JSON.parse(JSON.stringify(good)),
      );
    }),
    { numRuns: 15 },
  );
});
