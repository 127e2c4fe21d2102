/** Does with one account's token what no agent does: it opens thousands of watches, and sends the same request in loops. */
import { connect } from "node:http2";
import type { ClusterConfig } from "@klutch/kube";

/** Server and token of the account. */
export type MisbehavingClient = Pick<ClusterConfig, "server" | "ca"> & { readonly token: string };

/** Answer to one request, before its body. */
export interface AnswerHead {
  readonly status: number;
  /** Value of `Retry-After`; empty without one. */
  readonly retryAfter: string;
}

/** Connections with open streams. Disposing it ends them all. */
export interface OpenStreams extends Disposable {
  /** All answers, in the order of the requests. */
  readonly heads: readonly AnswerHead[];
}

/** API servers let a connection have 100 streams; more would wait for the end of others. */
const perConnection = 100;

/** Opens one path many times, leaves the streams open and reads nothing of them; resolves when each has its status. */
export async function openStreams(
  { server, ca, token }: MisbehavingClient,
  path: string,
  count: number,
): Promise<OpenStreams> {
  const sessions = Array.from({ length: Math.ceil(count / perConnection) }, () => {
    const session = connect(server, { ca });
    session.on("error", () => undefined);
    return session;
  });
  const heads = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const { promise, resolve, reject } = Promise.withResolvers<AnswerHead>();
      const session = sessions[Math.floor(index / perConnection)];
      const stream = session?.request({ ":path": path, authorization: `Bearer ${token}` });
      stream?.on("response", (headers) => {
        const status = headers[":status"] ?? 0;
        resolve({ status, retryAfter: String(headers["retry-after"] ?? "") });
      });
      stream?.on("error", reject);
      return promise;
    }),
  );
  return {
    heads,
    [Symbol.dispose]() {
      for (const session of sessions) session.destroy();
    },
  };
}

/** Requests the same again and again in as many loops, until it is aborted; gives back how often each status came. */
export async function requestInLoops(
  { server, ca, token }: MisbehavingClient,
  {
    path,
    body,
    loops,
    signal,
  }: {
    readonly path: string;
    /** Text of a POST; a GET without one. */
    readonly body?: ((number: number) => string) | undefined;
    readonly loops: number;
    readonly signal: AbortSignal;
  },
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  let sent = 0;
  const loop = async (): Promise<void> => {
    const session = connect(server, { ca });
    session.on("error", () => undefined);
    while (!signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<number>();
      const text = body?.(sent++);
      const method = text === undefined ? "GET" : "POST";
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const stream = session.request({ ":path": path, ":method": method, ...headers });
      let status = 0;
      stream.on("response", (answer) => (status = answer[":status"] ?? 0));
      stream.on("error", () => resolve(status));
      stream.on("close", () => resolve(status));
      stream.resume();
      stream.end(text);
      const found = await promise;
      counts.set(found, (counts.get(found) ?? 0) + 1);
      if (session.destroyed) break;
    }
    session.destroy();
  };
  await Promise.all(Array.from({ length: loops }, loop));
  return counts;
}
