/** The plugin's proof that it holds the app cluster, with a real app cluster and a backend that only gives out challenges. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { clusterKeySecret, clusterProofText, consumerNamespace, verifyText } from "@klutch/api";
import { namespaces, secrets } from "@klutch/kube-core";
import { systemClock } from "@klutch/kube";
import { leaseCluster } from "@klutch/kube-testing";
import { proveCluster } from "./cluster-proof.ts";
import type { Consumer } from "../clusters.ts";
import { namespaceManifest } from "./consumer.ts";
import type { ProviderDescription } from "./provider.ts";
import { scriptedRun } from "../testing/script.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { client } = stack.use(await leaseCluster({ name: "app" }));
await client.create(namespaces, namespaceManifest);
const consumer: Consumer = {
  side: "consumer",
  name: "a test",
  place: "a test",
  client,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};
const login = { sessionId: "session1", clusterId: "abc123" };
const offered: { url: string; status: number } = { url: "", status: 200 };
const server = createServer((request, response) => {
  response.writeHead(request.url === "/renew/challenge" ? offered.status : 404);
  response.end(JSON.stringify({ challenge: "a-challenge", url: offered.url }));
}).listen(0, "127.0.0.1");
await once(server, "listening");
stack.defer(() => void server.close());
const address = server.address();
const base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
offered.url = `${base}/renew`;
const provider: ProviderDescription = {
  url: `${base}/export`,
  prettyName: "Example",
  version: "v1.6.0",
  loginUrl: new URL(`${base}/authorize`),
  controlPlaneId: undefined,
};
const secret = { namespace: consumerNamespace, name: clusterKeySecret };

test("a provider that knows no challenges is logged in to as before, and no key is made for it", async () => {
  offered.status = 404;
  const run = scriptedRun();
  assert.equal(await proveCluster(run.context, consumer, provider, login), undefined);
  assert.equal(run.stderr(), "");
  assert.equal(await client.find(secrets, secret), undefined);
  offered.status = 200;
});

test("a provider that stays busy or broken ends the command: no one gets a tenant of their own by accident", async () => {
  for (const status of [429, 503]) {
    offered.status = status;
    const run = scriptedRun();
    const impatient = { ...run.context, clock: { ...systemClock, sleep: () => Promise.resolve() } };
    await assert.rejects(proveCluster(impatient, consumer, provider, login), {
      code: "ProviderUnreachable",
      message: new RegExp(`gave no challenge to sign \\(HTTP ${status}\\)`),
    });
  }
  const nowhere = { ...provider, loginUrl: new URL("http://127.0.0.1:1/authorize") };
  await assert.rejects(proveCluster(scriptedRun().context, consumer, nowhere, login), /cannot be reached/);
  offered.status = 200;
});

test("nothing is signed for a provider that names the address of another one", async () => {
  offered.url = "https://other.example.org/renew";
  const run = scriptedRun();
  assert.equal(await proveCluster(run.context, consumer, provider, login), undefined);
  assert.match(run.stderr(), /the provider names https:\/\/other\.example\.org\/renew as its address/);
  offered.url = `${base}/renew`;
});

test("the key is made once, stays in the app cluster and signs this login", async () => {
  const run = scriptedRun();
  const first = await proveCluster(run.context, consumer, provider, login);
  const second = await proveCluster(run.context, consumer, provider, { ...login, sessionId: "session2" });
  assert.ok(first !== undefined && second !== undefined);
  assert.equal(first.publicKey, second.publicKey);
  const text = clusterProofText(`${base}/renew`, login, "a-challenge");
  assert.equal(verifyText(first.publicKey, text, first.signature), true);
  assert.equal(verifyText(second.publicKey, text, second.signature), false);
});
