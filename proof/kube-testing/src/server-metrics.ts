/** Reads an API server's metrics past the client, which refuses an answer as long as a server gives that has served many kinds. */
import { request } from "node:https";
import { text } from "node:stream/consumers";
import type { ClusterConfig } from "@klutch/kube";

/** Returns the text of `/metrics`. Throws unless the answer is 200. */
export async function serverMetrics({ config }: { readonly config: ClusterConfig }): Promise<string> {
  const { server, ca, auth } = config;
  if (auth.kind !== "token") throw new Error("the cluster's administrator has no token");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = { ca, headers: { authorization: `Bearer ${auth.token.reveal()}` }, agent: false };
  const sent = request(new URL("/metrics", server), options, (answer) => {
    if (answer.statusCode === 200) text(answer).then(resolve, reject);
    else reject(new Error(`GET /metrics: the answer is ${answer.statusCode}`));
  });
  sent.on("error", reject).end();
  return await promise;
}
