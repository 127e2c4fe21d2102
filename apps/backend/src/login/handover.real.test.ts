/**
 * Tests logins while the replicas of the backend are replaced one after the other, as in a rollout: the new one is ready, new connections no
 * longer reach the old one, then it is told to end. A wire plays the Service.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type BackendProcess,
  crdObject,
  anyObject,
  startBackendProcess,
  leaseCluster,
  TcpProxy,
  waitFor,
} from "@klutch/kube-testing";
import { TestBrowser } from "../testing/browser.ts";
import { startIdentityProvider } from "../testing/identity-provider.ts";
import { oidcClient } from "../testing/login-fixture.ts";
import { databases, installProvider, offerDatabases } from "../testing/provider.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "handover" }));
const crd = crdObject(databases, { properties: { spec: anyObject, status: anyObject }, hasStatus: true });
await installProvider(cluster.client, [crd]);
await offerDatabases(cluster.client);
const service = stack.use(await TcpProxy.start("http://127.0.0.1:1"));
const callbackUrl = `${service.url}/callback`;
const issuer = await startIdentityProvider(stack, { ...oidcClient, callbackUrl });

async function startReplica(name: string): Promise<BackendProcess> {
  const flags = [
    `--oidc-issuer-url=${issuer}`,
    `--oidc-issuer-client-id=${oidcClient.id}`,
    `--oidc-issuer-client-secret=${oidcClient.secret}`,
    `--oidc-callback-url=${callbackUrl}`,
    `--cookie-signing-key=${Buffer.alloc(32, 7).toString("base64")}`,
    "--lease-namespace=default",
  ];
  return stack.use(await startBackendProcess(cluster, { name, servesLogin: false, flags }));
}

/** A whole login, from the plugin's first request to its answer. */
async function logIn(person: string): Promise<void> {
  const browser = new TestBrowser();
  const form = await browser.go(`${service.url}/authorize?s=session1&c=${person}&p=4321`);
  const page = await browser.submit(form, 'name="password"', { login: person, password: "x" });
  const answer = await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
  assert.deepEqual([answer.status, answer.url.searchParams.has("response")], [303, true], answer.html);
}

/** Logs in again and again until the signal aborts, and writes down what failed. */
async function keepLoggingIn(
  person: string,
  seen: { count: number; failed: unknown[] },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await logIn(person).catch((error: unknown) => seen.failed.push(error));
    seen.count++;
  }
}

test("no login fails while the replicas of the backend are replaced", async (t) => {
  let old = await startReplica("backend-0");
  service.route(old.url);
  const seen = { count: 0, failed: [] as unknown[] };
  const stop = new AbortController();
  const people = ["ann", "bob", "cleo"].map((person) => keepLoggingIn(person, seen, stop.signal));
  for (let round = 1; round <= 3; round++) {
    const next = await startReplica(`backend-${round}`);
    service.route(next.url);
    const enough = seen.count + 3;
    await Promise.all([old.stop(), waitFor("more logins", () => seen.count >= enough)]);
    old = next;
  }
  stop.abort();
  await Promise.all(people);
  t.diagnostic(`${seen.count} logins, ${seen.failed.length} failed`);
  assert.deepEqual(seen.failed, []);
});
