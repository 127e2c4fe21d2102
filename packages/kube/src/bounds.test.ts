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

test("an object with a number beyond 2^53, which takes a slower way of parsing, is left out when it is nested too deep, however short", () => {
  const long = ',"n":12345678901234567';
  const text = listOf(named("a", long), named("deep", `${long},"status":${deep(3_000)}`));
  const { items } = decodeList(text, "list things", "Thing");
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["a"],
  );
  const wide = `[12345678901234567${",1".repeat(500_000)}]`;
  assert.throws(() => parseJson(wide, "get Thing a"), { code: "TooLarge" });
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

/** Counts what the parser made, not by recursion. */
function sizeOf(parsed: unknown): { readonly values: number; readonly levels: number } {
  let [values, levels] = [1, 0];
  const open: [value: unknown, level: number][] = [[parsed, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, above] = next;
    if (typeof value !== "object" || value === null) continue;
    levels = Math.max(levels, above + 1);
    const parts = Object.values(value);
    values += parts.length;
    for (const part of parts) if (typeof part === "object") open.push([part, above + 1]);
  }
  return { values, levels };
}

/** JSON text of any value, written as a hostile server may: escapes, white space, keys that repeat, brackets in strings. */
const jsonText = fc.letrec<{ value: string }>((tie) => {
  const escaped = (text: string): string =>
    `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;
  const units = fc.oneof(
    fc.constantFrom("[", "]", "{", "}", ",", '"', "\\", "\\u005b"),
    fc.string({ unit: "binary" }),
  );
  const string = fc
    .tuple(fc.array(units, { maxLength: 12 }), fc.boolean(), fc.constantFrom(0, 20, 40))
    .map(([parts, isEscaped, padding]) => {
      const text = `${"x".repeat(padding)}${parts.join("")}`;
      return isEscaped ? escaped(text) : JSON.stringify(text);
    });
  const space = fc.constantFrom("", " ", "\n\t");
  const key = fc.oneof(
    fc.constantFrom('"items"', '"metadata"', '"__proto__"', '"\\u0069tems"', '""'),
    string,
  );
  const parts = fc.array(fc.tuple(space, key, tie("value")), { maxLength: 5 });
  const join = (texts: readonly string[]): string => texts.join(",");
  return {
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom("null", "true", "-0.0e-5", "12345678901234567", "1E400", "[]", "{}"),
      string,
      parts.map((all) => `{${join(all.map(([gap, name, value]) => `${gap}${name}${gap}:${value}${gap}`))}}`),
      parts.map((all) => `[${join(all.map(([gap, , value]) => `${gap}${value}${gap}`))}]`),
    ),
  };
}).value;
/** Has every text looked at. */
const looked = "12345678901234567";

test("no text is parsed to more levels or values than the bounds, and none within them is refused for its levels", () => {
  const nests = fc.array(fc.constantFrom<[string, string]>(["[", "]"], ['{"a":', "}"]), {
    minLength: 180,
    maxLength: 203,
  });
  fc.assert(
    fc.property(jsonText, jsonText, nests, (before, inner, around) => {
      const [opens, closes] = [around.map(([open]) => open), around.map(([, close]) => close).toReversed()];
      const text = `[${looked},${before},${opens.join("")}${inner}${closes.join("")}]`;
      const excess = excessIn(text);
      if (levelsOf(text) > 200) assert.match(excess ?? "", /200 levels/);
      // Of keys that repeat the last one counts for the parser.
      if (around.length < 190) assert.equal(excess, undefined);
    }),
    { numRuns: 300 },
  );
  fc.assert(
    fc.property(jsonText, fc.nat(60), (inner, fewer) => {
      const text = `[${looked},${inner}${",1".repeat(400_000 - fewer)}]`;
      if (sizeOf(JSON.parse(text)).values > 400_000) assert.match(excessIn(text) ?? "", /400000 values/);
    }),
    { numRuns: 10 },
  );
});

test("no list is parsed to more levels or values than the bounds, whatever stands before, in, beside or instead of its items", () => {
  const nested = fc
    .tuple(jsonText, fc.integer({ min: 190, max: 203 }))
    .map(([text, levels]) => `${"[".repeat(levels)}${text}${"]".repeat(levels)}`);
  const part = fc.tuple(
    fc.constantFrom("items", "metadata", "\\u0069tems"),
    fc.array(fc.oneof(jsonText, nested), { maxLength: 4 }),
    fc.boolean(),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
      const members = parts.map(
        ([key, all, isList]) => `"${key}":${isList ? `[${all.join(",")}]` : (all[0] ?? "7")}`,
      );
      const text = `{${[`"n":${looked}`, ...members].join(",")}}`;
      const parsable = parsableList(text, "list");
      assert.ok(levelsOf(parsable) <= 200, text);
      if (!text.includes("[".repeat(190))) assert.equal(parsable, text);
    }),
    { numRuns: 300 },
  );
});

function levelsOf(text: string): number {
  return sizeOf(JSON.parse(text)).levels;
}
