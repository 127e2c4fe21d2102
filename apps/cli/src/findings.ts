/** Ends a check with its findings. */
import { errorText } from "./errors.ts";

/** Ends a command with exit code 1 after its findings were printed: what it looked at is not as it should be. */
export class CheckFailedError extends Error {
  readonly code = "CheckFailed";

  constructor(message: string) {
    super(message);
    this.name = "CheckFailedError";
  }
}

/** Ends a check with exit code 2: it could not look, so it knows nothing of what it was to look at. */
export class CouldNotLookError extends Error {
  readonly code = "CouldNotLook";

  constructor(cause: unknown) {
    super(errorText(cause), { cause });
    this.name = "CouldNotLookError";
  }
}

/** Ends a command with exit code 2, without a further line: it looked, and what it printed is not well. */
export class NotWellError extends Error {
  readonly code = "NotWell";

  constructor(message: string) {
    super(message);
    this.name = "NotWellError";
  }
}

/** Most names in a sentence. */
const mostNamed = 5;

/** The first five names: `a, b`, or `a, b, c, d, e and 2 more`. */
export function named(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return `${names.slice(0, mostNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** `1 problem`, `2 problems`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
