/** Answers every request with the bytes that a test wants, which no real backend does. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";

/** The reply: these bytes and the end, these bytes again and again, or (undefined) silence without an end. */
export type RawAnswer = string | { readonly endless: string } | undefined;

/** Listens on a free port of this machine. */
export interface RawBackend extends AsyncDisposable {
  readonly url: string;
  answer: RawAnswer;
  /** Requests, as they came. */
  readonly asked: string[];
  /** Resolves when `count` requests have come. */
  whenAsked(count: number): Promise<void>;
}

/** An answer in HTTP. */
export function http(status: number, body = "", headers = "content-type: application/json"): string {
  const length = Buffer.byteLength(body);
  return `HTTP/1.1 ${status} Status\r\n${headers}\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`;
}

/** Answers 200. */
export async function startRawBackend(): Promise<RawBackend> {
  const sockets = new Set<Socket>();
  const waiting = new Set<() => void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.once("data", (data) => {
      backend.asked.push(data.toString("utf8"));
      for (const wake of waiting) wake();
      tell(socket, backend.answer);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const backend: RawBackend = {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    answer: http(200, "{}"),
    asked: [],
    whenAsked(count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = (): void => {
        if (backend.asked.length >= count) resolve();
      };
      waiting.add(wake);
      wake();
      return promise;
    },
    [Symbol.asyncDispose]: () =>
      new Promise((ended) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => ended());
      }),
  };
  return backend;
}

function tell(socket: Socket, answer: RawAnswer): void {
  if (answer === undefined) return;
  if (typeof answer === "string") {
    socket.end(answer);
    return;
  }
  const more = (): void => {
    while (socket.writable && socket.write(answer.endless));
  };
  socket.on("drain", more);
  more();
}
