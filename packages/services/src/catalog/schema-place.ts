/** Tells where a schema stands. */

/** Place of a schema in its document. */
export interface SchemaPlace {
  readonly field: string;
  readonly refs: readonly string[];
  /** Levels above it. */
  readonly depth: number;
  /** Lists around it. */
  readonly lists: number;
}
