/** Reasons why a server cannot be obtained or does not run. */
export type EngineErrorCode =
  | "GoMissing"
  | "GoTooOld"
  | "BuildFailed"
  | "ChecksumMismatch"
  | "PackageMissing"
  | "UnsafeFolder"
  | "CannotSwitchUser"
  | "DataMissing"
  | "DiskFull"
  | "ProcessEnded"
  | "NotReady";

/** Describes the problem, the server, and the remedy. */
export class EngineError extends Error {
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "EngineError";
    this.code = code;
  }
}
