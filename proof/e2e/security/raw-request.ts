/** A request whose path and headers go out exactly as they are written: no client of ours would send them. */
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import type { ClusterConfig } from "@klutch/kube";

/** A request. */
export interface RawAttempt {
  /** Default GET. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A response. */
export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

/** Sends it with the credential of `config`; redirects are not followed. The whole answer must be there after five seconds. */
export async function sendRaw({ auth, server, ca }: ClusterConfig, attempt: RawAttempt): Promise<RawAnswer> {
  if (auth.kind !== "token") throw new Error("raw requests go out with a token");
  const { hostname, port } = new URL(server);
  const { method = "GET", path, body } = attempt;
  const authorization = `Bearer ${auth.token.reveal()}`;
  const headers = { authorization, "content-type": "application/json", ...attempt.headers };
  const signal = AbortSignal.timeout(5_000);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({ hostname, port, ca, path, method, headers, signal }, resolve);
  sent.on("error", reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const response = await promise;
  return { status: response.statusCode ?? 0, text: await text(response) };
}
