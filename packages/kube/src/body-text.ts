/** Reads an answer's body up to a limit: a server that sends without end, or a gigabyte, must not fill the memory. */
import { TransportError } from "./errors.ts";

/** Longest bodies in bytes. */
export interface BodyLimits {
  /** Limit for anything but a page of a list. Default 3 MiB: an object has at most about 1.5 MiB in etcd. */
  readonly object?: number | undefined;
  /** Limit for one page of a list. Default 8 MiB. A longer page is requested again with fewer objects. */
  readonly page?: number | undefined;
}

/** The defaults. */
export const bodyLimits: Readonly<Record<"object" | "page", number>> = {
  object: 3 * 1024 * 1024,
  page: 8 * 1024 * 1024,
};

/** Longer bodies are read a few at a time: many at once would fill the memory, each within its limit. */
export const largeFrom: number = 1024 * 1024;
const largeAtOnce = 2;

/** Gives the bodies of one server their turns. */
export type Turns = () => Promise<Disposable>;

/** Returns turns of which `largeAtOnce` are out at a time, first come, first served. */
export function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let free = largeAtOnce;
  return async () => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return {
      [Symbol.dispose]: () => {
        const next = waiting.shift();
        if (next === undefined) free++;
        else next();
      },
    };
  };
}

/** The text of a body. Throws `TransportError` with code `TooLarge`; the rest is not read then. */
export async function boundedText(
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
  action: string,
  turns: Turns,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  using stack = new DisposableStack();
  for await (const chunk of body) {
    const before = length;
    length += chunk.length;
    if (length > limitBytes) throw tooLarge(limitBytes, action);
    chunks.push(chunk);
    if (before <= largeFrom && length > largeFrom) stack.use(await turns());
  }
  return Buffer.concat(chunks, length).toString("utf8");
}

/** Returns the error for a body that is longer than allowed. */
export function tooLarge(limitBytes: number, action: string): TransportError {
  return new TransportError("TooLarge", `${action}: the answer is longer than ${limitBytes} bytes`);
}
