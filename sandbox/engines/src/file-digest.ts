/** Digests of files, read as streams. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { EngineError } from "./errors.ts";

/** Identifies the expected content of a file. */
export interface FileDigest {
  readonly algorithm: "sha256" | "sha512";
  /** Digits in lower case. */
  readonly hex: string;
}

/** Returns the digest of a file's content in lower-case hex. Throws what the system says when it cannot be read. */
export async function digestOfFile(path: string, algorithm: FileDigest["algorithm"]): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** Throws `EngineError` ChecksumMismatch for a file of other content. `promise` ends the clause "but <digest> …". */
export async function requireDigest(
  path: string,
  { algorithm, hex }: FileDigest,
  promise: string,
): Promise<void> {
  const found = await digestOfFile(path, algorithm);
  if (found === hex) return;
  throw new EngineError(
    "ChecksumMismatch",
    `${basename(path)} has the ${algorithm} digest ${found}, but ${hex} ${promise}; not using it`,
  );
}
