/** A request whose path and headers go out exactly as they are written: no client of ours would send them. */
import { request } from "node:https";
import type { ClusterConfig } from "@klutch/kube";

/** A request. */
export interface RawAttempt {
  /** Default GET. */
  readonly method?: string | undefined;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** A response. */
export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

/** Sends it with the credential of `config`; redirects are not followed. */
export async function sendRaw(config: ClusterConfig, attempt: RawAttempt): Promise<RawAnswer> {
  const { auth, server, ca } = config;
  if (auth.kind !== "token") throw new Error("raw requests go out with a token");
  const { hostname, port } = new URL(server);
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const sent = request(
    {
      hostname,
      port,
      ca,
      path: attempt.path,
      method: attempt.method ?? "GET",
      headers: {
        authorization: `Bearer ${auth.token.reveal()}`,
        "content-type": "application/json",
        ...attempt.headers,
      },
      timeout: 5_000,
    },
    (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    },
  );
  sent.on("timeout", () => sent.destroy(new Error(`no end of the answer to ${attempt.path}`)));
  sent.on("error", reject);
  sent.end(attempt.body === undefined ? undefined : JSON.stringify(attempt.body));
  return promise;
}
