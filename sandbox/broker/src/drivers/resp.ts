/** A client of the Redis protocol (RESP2): commands out, replies in, in the same order. */
import type { Socket } from "node:net";

/** A reply; an error is thrown as `ReplyError`. */
export type Reply = string | number | null | readonly Reply[];

/** The server refused a command. The first word of the message is a code. */
export class ReplyError extends Error {
  override readonly name = "ReplyError";
}

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
        if (read === undefined) return;
        this.#received = this.#received.subarray(read.end);
        const waiting = this.#waiting.shift();
        if (read.value instanceof ReplyError) waiting?.reject(read.value);
        else waiting?.resolve(read.value);
      }
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

/** Reads the reply that begins at `start`; returns undefined while it is not whole. Throws when it is another protocol. */
export function readReply(bytes: Buffer, start: number): Read<Reply | ReplyError> | undefined {
  const lineEnd = bytes.indexOf("\r\n", start);
  if (lineEnd < 0) return undefined;
  const kind = bytes.toString("latin1", start, start + 1);
  const text = bytes.toString("utf8", start + 1, lineEnd);
  const end = lineEnd + 2;
  if (kind === "+") return { value: text, end };
  if (kind === "-") return { value: new ReplyError(text), end };
  const number = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (kind === ":" && !Number.isNaN(number)) return { value: number, end };
  if ((kind !== "$" && kind !== "*") || !(number >= -1))
    throw new Error("the server answers in another protocol");
  if (number === -1) return { value: null, end };
  if (kind === "*") return readArray(bytes, number, end);
  const after = end + number;
  return bytes.length < after + 2 ? undefined : { value: bytes.toString("utf8", end, after), end: after + 2 };
}

function readArray(bytes: Buffer, length: number, start: number): Read<Reply> | undefined {
  const items: Reply[] = [];
  let end = start;
  while (items.length < length) {
    const item = readReply(bytes, end);
    if (item === undefined) return undefined;
    items.push(item.value instanceof ReplyError ? item.value.message : item.value);
    end = item.end;
  }
  return { value: items, end };
}
