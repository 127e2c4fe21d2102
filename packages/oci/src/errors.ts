/** A registry did not take an image. */
export class OciError extends Error {
  readonly code = "Oci";

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "OciError";
  }
}
