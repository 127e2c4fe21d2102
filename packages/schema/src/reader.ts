/** Reads each part of a schema once, however many values are held against it, and spends an effort in doing so. */
import { Effort } from "./effort.ts";
import { type Pattern, patternOf } from "./pattern.ts";
import type { JsonSchema } from "./schema.ts";
import { type SchemaView, viewOf } from "./view.ts";

/** Remembers what it has read: keep one for as long as the same schema is read, and no longer. Throws when the effort is spent. */
export class SchemaReader {
  readonly effort: Effort;
  readonly #views = new Map<JsonSchema, SchemaView>();
  readonly #sets = new Map<JsonSchema, ReadonlySet<string>>();
  readonly #texts = new Map<object, string>();
  readonly #patterns = new Map<string, { readonly pattern: Pattern }>();

  /** Default: no limit. */
  constructor(effort: Effort = new Effort()) {
    this.effort = effort;
  }

  viewOf(schema: JsonSchema): SchemaView {
    const known = this.#views.get(schema);
    if (known !== undefined) return known;
    const view = viewOf(schema);
    this.effort.spend(1 + (view.properties.size + view.required.length + (view.enum?.length ?? 0)) / 4);
    this.#views.set(schema, view);
    return view;
  }

  /** JSON text of a part of a schema, to be compared. */
  textOf(part: unknown): string | undefined {
    if (typeof part !== "object" || part === null) return JSON.stringify(part);
    const text = this.#texts.get(part) ?? JSON.stringify(part);
    if (!this.#texts.has(part)) this.effort.spend(text.length / 100);
    this.#texts.set(part, text);
    this.effort.spend(text.length / 5_000);
    return text;
  }

  /** Returns true if the value is in the schema's `enum`. */
  isOneOf(schema: JsonSchema, value: unknown): boolean {
    const texts =
      this.#sets.get(schema) ?? new Set((this.viewOf(schema).enum ?? []).map((item) => JSON.stringify(item)));
    this.#sets.set(schema, texts);
    const text = JSON.stringify(value) ?? "";
    this.effort.spend(text.length / 100);
    return texts.has(text);
  }

  /** Returns true if the text matches. An unreadable pattern refuses nothing: the API server checks it. */
  matches(source: string, text: string): boolean {
    const { pattern } = this.#patterns.get(source) ?? { pattern: patternOf(source, this.effort) };
    this.#patterns.set(source, { pattern });
    return pattern?.matches(text, this.effort) ?? true;
  }
}
