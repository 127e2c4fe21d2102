/** Reads an API server's metrics past the client, which refuses an answer as long as a server with many kinds gives. */
import { request } from "node:https";
import { text } from "node:stream/consumers";
import type { TestCluster } from "@klutch/kube-testing";

/** Returns the text of `/metrics`. Throws unless the answer is 200. */
export async function largeMetrics({ config }: Pick<TestCluster, "config">): Promise<string> {
  const { server, ca, auth } = config;
  if (auth.kind !== "token") throw new Error("the cluster's administrator has no token");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { authorization: `Bearer ${auth.token.reveal()}` };
  const sent = request(new URL("/metrics", server), { ca, headers }, (answer) => {
    if (answer.statusCode === 200) text(answer).then(resolve, reject);
    else reject(new Error(`GET /metrics: the answer is ${answer.statusCode}`));
  });
  sent.on("error", reject).end();
  return await promise;
}
