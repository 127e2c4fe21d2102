/** Why there is no node here. */
export type NodeErrorCode =
  /** The machine lacks something; the message names it. */
  | "Unfit"
  /** A program of the machine, such as `ip`, did not do what it was asked. */
  | "CommandFailed"
  /** An option cannot be used. */
  | "BadOption"
  /** The node's namespaces ended. */
  | "Ended";

/** What happened, and what to do about it. */
export class NodeError extends Error {
  readonly code: NodeErrorCode;

  constructor(code: NodeErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "NodeError";
    this.code = code;
  }
}
