/** The release cannot be built; the message says what to do. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
  readonly code = "Release";
}
