/** The reconcile failed in a way that trying again cannot mend; the next change of the object tries anew. */
export class TerminalError extends Error {
  readonly code = "Terminal";

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "TerminalError";
  }
}
