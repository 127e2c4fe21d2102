/** Ends a check with its findings. */

/** Ends a command with exit code 1 after its findings were printed: what it looked at is not as it should be. */
export class CheckFailedError extends Error {
  readonly code = "CheckFailed";

  constructor(message: string) {
    super(message);
    this.name = "CheckFailedError";
  }
}

/** `1 problem`, `2 problems`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
