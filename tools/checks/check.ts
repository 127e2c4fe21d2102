/** Defines a check: a rule of this repository that a program can hold. */
import type { Tree } from "./tree.ts";

/** One rule. `npm run check` runs it, and `npm test` does. */
export interface Check {
  /** One word; chooses the check on the command line. */
  readonly name: string;
  /** The rule as a sentence. */
  readonly rule: string;
  /** Remedy for a problem. */
  readonly advice: string;
  /** Lists the violations, one text each; empty if there are none. */
  readonly find: (tree: Tree) => readonly string[] | Promise<readonly string[]>;
}
