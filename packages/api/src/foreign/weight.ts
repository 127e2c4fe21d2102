/** Bounds the size of a foreign value before any code walks through it. */

/** Bounds of a value. */
export interface WeightLimits {
  /** Levels of objects and lists. */
  readonly depth: number;
  /** Values, fields and items. */
  readonly nodes: number;
  /** Characters of all texts and names together. */
  readonly characters: number;
}

/** Returns the bound that a value exceeds, worded for a person; undefined if none. Takes no longer than the bounds allow. */
export function overweight(value: unknown, limits: WeightLimits): string | undefined {
  let nodes = 0;
  let characters = 0;
  const isWithin = (item: unknown, depth: number): string | undefined => {
    nodes++;
    if (nodes > limits.nodes) return `more than ${limits.nodes} values`;
    if (typeof item === "string") characters += item.length;
    if (characters > limits.characters) return `more than ${limits.characters} characters`;
    if (typeof item !== "object" || item === null) return undefined;
    if (depth >= limits.depth) return `more than ${limits.depth} levels`;
    for (const name in item) {
      if (!Array.isArray(item)) characters += name.length;
      const problem = isWithin(Reflect.get(item, name), depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  return isWithin(value, 0);
}
