/** Objects of a stranger: a good one with anything in the place of some of its fields, for property tests. */
import fc from "fast-check";

const values = fc.oneof(
  fc.anything(),
  fc.jsonValue(),
  fc.string({ unit: "binary" }),
  fc.constantFrom<unknown>(
    "",
    "v1",
    "__proto__",
    "constructor",
    "../x",
    "a\u001b[2J\u202e",
    "x".repeat(10_000),
    -1,
    1e308,
    Number.NaN,
    [],
    {},
    null,
    [null],
    [[]],
    true,
  ),
);

/** `good` with one to three fields changed, or something else altogether. */
export function mutationsOf(good: object): fc.Arbitrary<unknown> {
  const paths = fc.constantFrom(...pathsOf(good));
  return fc
    .array(fc.tuple(paths, values), { minLength: 1, maxLength: 3 })
    .map((mutations) =>
      mutations.reduce<unknown>((target, [path, value]) => changedIn(target, path, value), good),
    );
}

/** The value with another one at the path; where the path leads nowhere, just that one. */
export function changedIn(target: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined || typeof target !== "object" || target === null) return value;
  if (Array.isArray(target)) {
    return target.map((item: unknown, index) =>
      String(index) === name ? changedIn(item, rest, value) : item,
    );
  }
  return { ...target, [name]: changedIn(Reflect.get(target, name), rest, value) };
}

/** Paths of everything in a value. */
export function pathsOf(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [[]];
  return [
    [],
    ...Object.entries(value).flatMap(([name, item]) => pathsOf(item).map((path) => [name, ...path])),
  ];
}
