import { dirname } from "node:path";

/** Absolute path of the checkout. */
export const repositoryRoot: string = dirname(import.meta.dirname);
