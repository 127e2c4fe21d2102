/** Listens between the provider and its broker for PostgreSQL. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { providerConfigs } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, textAt } from "@klutch/kube-core";

/** Lists the requests about each instance: method, organisation and space; each distinct one once. */
export type SentToBroker = ReadonlyMap<string, readonly string[]>;

/** A listener that was started; disposing it leads the provider past it again. */
export interface Listener extends AsyncDisposable {
  readonly sent: SentToBroker;
}

/** Routes the provider's requests to its broker through this server and records them unchanged. */
export async function listenBeforeBroker(client: KubeClient): Promise<Listener> {
  const sent = new Map<string, readonly string[]>();
  const ref = { name: "postgresql-service-broker" };
  const broker = textAt(await client.get<DynamicObject>(providerConfigs, ref), "spec", "url") ?? "";
  const server = createServer((incoming, response) => {
    const answered = pass(broker, incoming, sent).then(async (answer) => {
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(await answer.text());
    });
    answered.catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const reachAt = (url: string): Promise<unknown> =>
    client.mergePatch(providerConfigs, ref, { spec: { url } });
  await reachAt(`http://127.0.0.1:${address.port}`);
  return {
    sent,
    async [Symbol.asyncDispose]() {
      await reachAt(broker);
      server.close();
      server.closeAllConnections();
    },
  };
}

async function pass(
  broker: string,
  incoming: IncomingMessage,
  sent: Map<string, readonly string[]>,
): Promise<Response> {
  const { method = "", url = "", headers } = incoming;
  const body = (await incoming.toArray()).join("");
  const id = /^\/v2\/service_instances\/([^/?]+)(?:\?|$)/.exec(url)?.[1];
  if (id !== undefined && (method === "PUT" || method === "PATCH")) {
    const noted = sent.get(id) ?? [];
    const line = lineOf(method, JSON.parse(body));
    if (!noted.includes(line)) sent.set(id, [...noted, line]);
  }
  const passed = new Headers();
  for (const name of ["authorization", "content-type", "x-broker-api-version"]) {
    const value = headers[name];
    if (typeof value === "string") passed.set(name, value);
  }
  return fetch(broker + url, { method, headers: passed, ...(body === "" ? {} : { body }) });
}

function lineOf(method: string, body: unknown): string {
  const read = (...path: readonly string[]): string => textAt(body, ...path) ?? "none";
  const own = method === "PUT" ? [`${read("organization_guid")}/${read("space_guid")}`] : [];
  return [method, ...own, `${read("context", "organization_guid")}/${read("context", "space_guid")}`].join(
    " ",
  );
}
