/** Why a server cannot be had or does not run. */
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

/** What happened to which server, and what to do about it. */
export class EngineError extends Error {
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "EngineError";
    this.code = code;
  }
}
