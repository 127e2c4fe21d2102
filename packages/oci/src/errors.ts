/** A registry did not take or give what it should, or a layout is not whole. */
export class OciError extends Error {
  readonly code = "Oci";

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "OciError";
  }
}
