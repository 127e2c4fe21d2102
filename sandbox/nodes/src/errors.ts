/** Reason for the lack of a node. */
export type NodeErrorCode =
  /** The machine lacks something; the message names it. */
  | "Unfit"
  /** A program of the machine, such as `ip`, failed. */
  | "CommandFailed"
  /** The node's namespaces ended. */
  | "Ended";

/** Says what happened, and what to do about it. */
export class NodeError extends Error {
  readonly code: NodeErrorCode;

  constructor(code: NodeErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "NodeError";
    this.code = code;
  }
}
