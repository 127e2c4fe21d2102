/** Reads an answer's body up to a limit: a server that sends without end, or a gigabyte, must not fill the memory. */
import { TransportError } from "./errors.ts";

/** Longest bodies in bytes. */
export interface BodyLimits {
  /** Limit for anything but a page of a list. Default 16 MiB: an object has at most about 1.5 MiB in etcd. */
  readonly object?: number | undefined;
  /** Limit for one page of a list. Default 64 MiB. A longer page is requested again with fewer objects. */
  readonly page?: number | undefined;
}

/** The defaults. */
export const bodyLimits: Readonly<Record<"object" | "page", number>> = {
  object: 16 * 1024 * 1024,
  page: 64 * 1024 * 1024,
};

/** The text of a body. Throws `TransportError` with code `TooLarge`; the rest is not read then. */
export async function boundedText(
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
  action: string,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limitBytes) throw tooLarge(limitBytes, action);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString("utf8");
}

/** Returns the error for a body that is longer than allowed. */
export function tooLarge(limitBytes: number, action: string): TransportError {
  return new TransportError("TooLarge", `${action}: the answer is longer than ${limitBytes} bytes`);
}
