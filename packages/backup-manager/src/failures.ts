/** Translates a failure below HTTP to an error of this client, with the next step. */
import type { HttpFailure, HttpFailureCode } from "@klutch/http-client";
import type { CallAbout } from "./call.ts";
import { BackupManagerTransportError } from "./errors.ts";

/** The error of a call whose exchange failed so. */
export function brokenAnswer({ code, detail }: HttpFailure, about: CallAbout): BackupManagerTransportError {
  return new BackupManagerTransportError(code, about, sentences[code](detail));
}

const sentences: Readonly<Record<HttpFailureCode, (detail: string) => string>> = {
  Unreachable: (detail) =>
    `the backup manager cannot be reached (${detail}). Check url and that the manager runs.`,
  Tls: (detail) =>
    `no trusted TLS connection came about (${detail}). Check tls.ca, tls.serverName and that url speaks TLS.`,
  Timeout: (detail) => `no complete answer came ${detail}. Try again, or allow more time by timeoutMs.`,
  Broken: (detail) => `the connection broke before the answer was complete (${detail}). Try again.`,
  TooLarge: (detail) =>
    `the answer is too long (${detail}) and was not read to its end. Check that url leads to a backup manager.`,
  Garbage: (detail) => `the answer is no HTTP (${detail}). Check url, and whether http or https is right.`,
};
