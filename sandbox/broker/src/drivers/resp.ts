/** A client of the Redis protocol (RESP2): commands out, replies in, in the same order. */
import type { Socket } from "node:net";

/** A reply; an error is thrown as `ReplyError`. */
export type Reply = string | number | null | readonly Reply[];

/** The server refused a command. The first word of the message is a code. */
export class ReplyError extends Error {}

/** One connection. */
export class RespConnection implements Disposable {
  readonly #socket: Socket;
  readonly #waiting: PromiseWithResolvers<Reply>[] = [];
  #received = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error("the server ended the connection"));
    });
  }

  get hasEnded(): boolean {
    return this.#socket.destroyed;
  }

  /** Sends one command and waits for its reply. */
  send(...words: readonly string[]): Promise<Reply> {
    if (this.hasEnded) return Promise.reject(new Error("the server ended the connection"));
    const waiting = Promise.withResolvers<Reply>();
    this.#waiting.push(waiting);
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.#socket.write(`*${words.length}\r\n${parts.join("")}`);
    return waiting.promise;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    try {
      for (let read = readReply(this.#received, 0); read !== undefined; read = readReply(this.#received, 0)) {
        this.#received = this.#received.subarray(read.end);
        const waiting = this.#waiting.shift();
        if (read.value instanceof ReplyError) waiting?.reject(read.value);
        else waiting?.resolve(read.value);
      }
    } catch {
      this.#socket.destroy();
    }
  }
}

/** Reads the reply that begins at `start`; returns undefined while it is not whole. Throws when it is another protocol. */
export function readReply(
  bytes: Buffer,
  start: number,
): { readonly value: Reply | ReplyError; readonly end: number } | undefined {
  const lineEnd = bytes.indexOf("\r\n", start);
  if (lineEnd < 0) return undefined;
  const kind = bytes.toString("latin1", start, start + 1);
  const text = bytes.toString("utf8", start + 1, lineEnd);
  let end = lineEnd + 2;
  if (kind === "+") return { value: text, end };
  if (kind === "-") return { value: new ReplyError(text), end };
  const number = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (kind === ":" && !Number.isNaN(number)) return { value: number, end };
  if ((kind !== "$" && kind !== "*") || !(number >= -1))
    throw new Error("the server answers in another protocol");
  if (number === -1) return { value: null, end };
  if (kind === "$") {
    const value = bytes.toString("utf8", end, end + number);
    return bytes.length < end + number + 2 ? undefined : { value, end: end + number + 2 };
  }
  const items: Reply[] = [];
  while (items.length < number) {
    const item = readReply(bytes, end);
    if (item === undefined) return undefined;
    items.push(item.value instanceof ReplyError ? item.value.message : item.value);
    end = item.end;
  }
  return { value: items, end };
}
