import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatYaml } from "./yaml.ts";
import { parsePlacedYaml, YamlTextError } from "./yaml-places.ts";

const text = `# A table
kind: Service
spec:
  plans:
    - name: one
      about: >-
        The first
        of two
    - { name: two, words: [a, b] }
  "quoted": &all
    deep: 1
  same: *all
`;

test("every field and item says its line, a folded text the one where it begins", () => {
  const { lineOf } = parsePlacedYaml(text);
  for (const [field, line] of [
    ["", 2],
    ["kind", 2],
    ["spec.plans", 4],
    ["spec.plans[0]", 5],
    ["spec.plans[0].about", 6],
    ["spec.plans[1].name", 9],
    ["spec.plans[1].words[1]", 9],
    ["spec.quoted.deep", 11],
  ] as const)
    assert.equal(lineOf(field), line, field);
});

test("a field that is missing or comes by an alias has the line of the field around it", () => {
  const { value, lineOf } = parsePlacedYaml(text);
  assert.match(JSON.stringify(value), /"same":\{"deep":1\}/);
  assert.equal(lineOf("spec.same.deep"), 12);
  assert.equal(lineOf("spec.plans[0].takes.create"), 5);
  assert.equal(lineOf("metadata.name"), 2);
});

test("the lines of a printed value are those of its fields", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.jsonValue(), { minKeys: 1 }), (value) => {
      const printed = formatYaml(value);
      const { lineOf } = parsePlacedYaml(printed);
      for (const name of Object.keys(value))
        assert.match(printed.split("\n")[lineOf(name) - 1] ?? "", new RegExp(`^['"]?${name}['"]?:`));
    }),
  );
});

test("text that is not one document is an error with a line", () => {
  for (const [wrong, line] of [
    ["a: [1\n", 2],
    ["a: 1\nb: 2\na: 3\n", 3],
    ["a: 1\n---\nb: 1\n", 1],
    ["", 1],
    ["? [a]\n: 1\n", 1],
    ["a:\n  - *unknown\n", 2],
  ] as const)
    assert.throws(
      () => parsePlacedYaml(wrong),
      (error: unknown) => error instanceof YamlTextError && error.line === line && error.message !== "",
      wrong,
    );
});

test("a small text that its aliases make a large value is refused", () => {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const items = level === 0 ? "a" : Array.from({ length: 9 }, () => `*l${level - 1}`).join(", ");
    return `l${level}: &l${level} [${items}]\n`;
  });
  assert.throws(() => parsePlacedYaml(levels.join("")), /too large/);
});

test("no text makes anything else than a value or this error", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom("a", ": ", "- ", "\n", "  ", "[", "{", "&x ", "*x", "? ", "|\n", "'", "!!x ", "#"),
      ),
      (parts) => {
        try {
          const { lineOf } = parsePlacedYaml(parts.join(""));
          assert.ok(lineOf("a.a[0]") >= 1);
        } catch (error) {
          assert.ok(error instanceof YamlTextError, String(error));
          assert.ok(error.line >= 1);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});
