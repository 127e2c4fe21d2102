/** The release cannot be built; the message says what to do. */
export class ReleaseError extends Error {
  readonly code = "Release";

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "ReleaseError";
  }
}
