/** Stands before the real broker, counts requests, and answers in its place where a test needs a lie or a fault. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";

/** A request that came. */
export interface Asked {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  /** Milliseconds of a monotonic clock. */
  readonly at: number;
}

/** An answer in the broker's place. */
export interface Lie {
  readonly status: number;
  /** Default `application/json`. */
  readonly type?: string | undefined;
  readonly body: string;
  /** The broker gets the request all the same; only its answer is lost. */
  readonly forward?: boolean | undefined;
  /** The reply: the answer, a closed connection, or silence. Default `answer`. */
  readonly comes?: "answer" | "end" | "nothing" | undefined;
}

/** Passes everything on to the broker unless `lie` answers first. */
export interface Front extends AsyncDisposable {
  readonly port: number;
  readonly asked: Asked[];
  /** Undefined: the broker answers. */
  lie: ((asked: Asked) => Lie | undefined) | undefined;
}

/** An error object as brokers send it. */
export function brokerError(status: number, error: string, description: string): Lie {
  return { status, body: JSON.stringify({ error, description }) };
}

/** Listens on a free port and forwards to the broker on `brokerPort`. */
export async function startFront(brokerPort: () => number): Promise<Front> {
  const server = createServer((incoming, response) => {
    void answer(incoming, response);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const front: Front = {
    port: typeof address === "object" && address !== null ? address.port : 0,
    asked: [],
    lie: undefined,
    [Symbol.asyncDispose]: () =>
      new Promise((ended) => {
        server.closeAllConnections();
        server.close(() => ended());
      }),
  };
  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) if (chunk instanceof Buffer) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { method = "", url = "", headers } = incoming;
    const [path = "", query = ""] = url.split("?");
    const asked: Asked = { method, path, query, body: body.toString(), headers, at: performance.now() };
    front.asked.push(asked);
    const lie = front.lie?.(asked);
    if (lie !== undefined && lie.forward !== true) {
      tell(lie, response);
      return;
    }
    const forwarded = request({ host: "127.0.0.1", port: brokerPort(), method, path: url, headers });
    forwarded.on("error", () => response.destroy());
    forwarded.on("response", (answered) => {
      if (lie === undefined) {
        response.writeHead(answered.statusCode ?? 502, answered.headers);
        answered.pipe(response);
        return;
      }
      answered.resume();
      answered.on("end", () => tell(lie, response));
    });
    forwarded.end(body);
  }
  return front;
}

function tell(
  { status, type = "application/json", body, comes = "answer" }: Lie,
  response: ServerResponse,
): void {
  if (comes === "end") response.destroy();
  if (comes === "answer") response.writeHead(status, { "content-type": type }).end(body);
}
