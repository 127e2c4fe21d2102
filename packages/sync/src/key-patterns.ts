/** Patterns of label and annotation keys, in which `*` stands for any characters. */

/** Matches keys against patterns. */
export type KeyMatcher = (key: string) => boolean;

/** Texts before, between and after the `*` of a pattern. `last` is undefined when it has none. */
interface PatternParts {
  readonly pattern: string;
  readonly first: string;
  readonly inner: readonly string[];
  readonly last: string | undefined;
}

/** Prepares patterns that are compared with many keys. Linear in the length of a key. */
export function keyMatcher(patterns: readonly string[]): KeyMatcher {
  const prepared = patterns.map(partsOf);
  return (key) => prepared.some((parts) => matches(key, parts));
}

/** Returns true if one of the patterns matches the key. */
export function matchesAny(key: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matches(key, partsOf(pattern)));
}

function partsOf(pattern: string): PatternParts {
  const [first = "", ...inner] = pattern.split("*");
  return { pattern, first, last: inner.pop(), inner };
}

function matches(text: string, { pattern, first, inner, last }: PatternParts): boolean {
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let position = first.length;
  for (const part of inner) {
    const found = text.indexOf(part, position);
    if (found < 0) return false;
    position = found + part.length;
  }
  return text.length - last.length >= position && text.endsWith(last);
}
