/** The protocol of Redis (RESP2): commands out, replies in, in the same order. */
import type { Socket } from "node:net";

/** A reply; an error is thrown as `ReplyError`. */
export type Reply = string | number | null | readonly Reply[];

/** What the server said against a command. The first word is its code. */
export class ReplyError extends Error {}

/** Nobody but the server of the broker's own answers here, but a reply without end would take all memory. */
const mostBytes = 16 * 1024 * 1024;

/** One connection. */
export class RespConnection implements Disposable {
  readonly #socket: Socket;
  readonly #waiting: PromiseWithResolvers<Reply>[] = [];
  #received = Buffer.alloc(0);
  #hasEnded = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("close", () => this.#end(new Error("the server ended the connection")));
    socket.on("error", () => undefined);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Sends one command and waits for its reply. */
  send(...words: readonly string[]): Promise<Reply> {
    const waiting = Promise.withResolvers<Reply>();
    if (this.#hasEnded) waiting.reject(new Error("the server ended the connection"));
    else {
      this.#waiting.push(waiting);
      const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
      this.#socket.write(`*${words.length}\r\n${parts.join("")}`);
    }
    return waiting.promise;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    try {
      for (;;) {
        const read = readReply(this.#received, 0);
        if (read === undefined) break;
        this.#received = this.#received.subarray(read.end);
        const waiting = this.#waiting.shift();
        if (read.value instanceof ReplyError) waiting?.reject(read.value);
        else waiting?.resolve(read.value);
      }
      if (this.#received.length > mostBytes) throw new Error("a reply is larger than 16 MiB");
    } catch (error) {
      this.#end(error);
      this.#socket.destroy();
    }
  }

  #end(error: unknown): void {
    this.#hasEnded = true;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

interface Read<T> {
  readonly value: T;
  readonly end: number;
}

/** The reply that begins at `start`; undefined while it is not whole. Throws for what is none. */
export function readReply(bytes: Buffer, start: number): Read<Reply | ReplyError> | undefined {
  const lineEnd = bytes.indexOf("\r\n", start);
  if (lineEnd < 0) return undefined;
  const text = bytes.toString("utf8", start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCodePoint(bytes[start] ?? 0)) {
    case "+":
      return { value: text, end };
    case "-":
      return { value: new ReplyError(text), end };
    case ":":
      return { value: lengthOf(text, -Number.MAX_SAFE_INTEGER), end };
    case "$":
      return readBulk(bytes, lengthOf(text, -1), end);
    case "*":
      return readArray(bytes, lengthOf(text, -1), end);
    default:
      throw new Error("the server answers in another protocol");
  }
}

function readBulk(bytes: Buffer, length: number, start: number): Read<Reply> | undefined {
  if (length < 0) return { value: null, end: start };
  const end = start + length;
  return bytes.length < end + 2 ? undefined : { value: bytes.toString("utf8", start, end), end: end + 2 };
}

function readArray(bytes: Buffer, length: number, start: number): Read<Reply> | undefined {
  if (length < 0) return { value: null, end: start };
  const items: Reply[] = [];
  let end = start;
  for (let index = 0; index < length; index++) {
    const item = readReply(bytes, end);
    if (item === undefined) return undefined;
    items.push(item.value instanceof ReplyError ? item.value.message : item.value);
    end = item.end;
  }
  return { value: items, end };
}

function lengthOf(text: string, least: number): number {
  const length = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(length >= least)) throw new Error("the server answers in another protocol");
  return length;
}
