/**
 * A login on another device at a real Dex, with two replicas of the real backend and a real API server: from the code to a credential. The plugin is
 * scripted, so that it can do what ours never does.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  apiServiceExportRequests,
  type BindingResponse,
  decodeBindingProvider,
  decodeDeviceLoginStart,
  decodeDevicePoll,
  deviceGrant,
  type DeviceLoginStart,
  devicePollUrl,
  type Grant,
  grants,
  type LoginOffer,
  openOffer,
  publicKeyOf,
} from "@klutch/api";
import { createKubeClient, parseForeignKubeconfig, systemClock } from "@klutch/kube";
import { isRecord, type KubeObject, namespaces } from "@klutch/kube-core";
import { addressOf, approveAtDex, dexDeviceClient, prepareDexReplicas } from "../testing/dex.ts";
import { oidcClient } from "../testing/login-fixture.ts";
import { type Answer, confirmOffer, newRun, type PluginRun, post } from "../testing/plugin.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, issuer, service, replicas } = await prepareDexReplicas(stack, "device");
const { client } = cluster;
const [first, second] = replicas;

const secrets: string[] = [];

async function begin({ pem, key, clusterId }: PluginRun, wish = "apis=databases"): Promise<DeviceLoginStart> {
  const keys = { answerKey: key.publicKey, clusterKey: publicKeyOf(pem) ?? "" };
  const request = { sessionId: "session1", clusterId, clusterName: "prod", wish, ...keys };
  const { status, body } = await post(`${service.url}/device`, request);
  assert.equal(status, 200, JSON.stringify(body));
  const started = decodeDeviceLoginStart(body);
  secrets.push(started.userCode, started.handle);
  return started;
}

const pollAt = (url: string, handle: string): Promise<Answer> =>
  post(devicePollUrl(`${url}/device`), { handle });
const wait = (seconds: number): Promise<void> => systemClock.sleep(seconds * 1000);
const errorOf = ({ body }: Answer): string => (isRecord(body) ? String(body["error"]) : "");

async function offerOf({ key }: PluginRun, { status, body }: Answer): Promise<LoginOffer> {
  assert.equal(status, 200, JSON.stringify(body));
  const answer = decodeDevicePoll(200, body);
  return openOffer(key, answer.kind === "offered" ? answer.offer : "");
}

async function confirm(run: PluginRun, offer: LoginOffer): Promise<BindingResponse> {
  const outcome = await confirmOffer(service.url, run, offer, deviceGrant);
  assert.ok(outcome.kind === "bound", JSON.stringify(outcome));
  return outcome.response;
}

test("a backend whose identity provider has the flow says so, and plugins read it", async () => {
  const provider = decodeBindingProvider(await (await fetch(`${service.url}/export`)).json());
  assert.equal(provider.deviceUrl, `${service.url}/device`);
});

test("a code that a person approves in another browser leads to a credential, over two replicas", async () => {
  const run = await newRun("abc-1");
  const started = await begin(run);
  assert.match(started.userCode, /^[A-Z]{4}-[A-Z]{4}$/);
  await wait(started.interval);
  const waiting = await pollAt(first.url, started.handle);
  assert.equal(waiting.status, 202, JSON.stringify(waiting.body));
  const pending = decodeDevicePoll(202, waiting.body);
  assert.ok(pending.kind === "pending");
  const { last, visited } = await approveAtDex(started.verificationUri, started.userCode, "developer");
  assert.match(last.html, /Login Successful/i);
  // Dex puts the secret of a client that has one into this address.
  const way = visited.filter((url) => new URL(url).searchParams.get("client_id") === dexDeviceClient);
  assert.notEqual(way.length, 0, visited.join("\n"));
  assert.ok(!visited.join().includes(oidcClient.secret));
  // Before its time no replica asks.
  assert.equal((await pollAt(second.url, pending.handle)).status, 429);
  await wait(pending.interval);
  const offer = await offerOf(run, await pollAt(second.url, pending.handle));
  assert.deepEqual(
    [offer.issuer, offer.verifiedEmail, offer.tenant.relation, offer.sessionId],
    [issuer, addressOf("developer"), "founds", "session1"],
  );
  const response = await confirm(run, offer);
  assert.equal(response.authentication.oauth2CodeGrant.id, `${issuer}/${offer.subject}`);
  const kubeconfig = parseForeignKubeconfig(Buffer.from(response.kubeconfig, "base64").toString());
  assert.equal(kubeconfig.namespace, offer.tenant.name);
  await using tenant = createKubeClient(kubeconfig);
  assert.deepEqual((await tenant.list(apiServiceExportRequests, { namespace: offer.tenant.name })).items, []);
  const records = (await client.list<Grant>(grants, { namespace: offer.tenant.name })).items;
  assert.deepEqual(
    records.map(({ spec }) => [spec.identity.user, spec.api.resource, spec.way]),
    [[`oidc:${addressOf("developer")}`, "databases", "device"]],
  );
  // The handle is used up where the offer was made.
  assert.equal((await pollAt(second.url, pending.handle)).status, 400);
  // Dex answers again elsewhere: that offer is for the same keys, person and APIs only.
  const replayed = await pollAt(first.url, pending.handle);
  const same = await offerOf(run, replayed);
  assert.deepEqual([same.subject, same.tenant.name], [offer.subject, offer.tenant.name]);
  await assert.rejects(offerOf(await newRun("abc-1"), replayed), /was not sealed for this login/);
});

test("approved by somebody else's browser it is an offer of that person, who gets only what they may bind", async () => {
  const run = await newRun("abc-2");
  const started = await begin(run);
  await approveAtDex(started.verificationUri, started.userCode, "mallory");
  await wait(started.interval);
  const refused = await pollAt(first.url, started.handle);
  assert.equal(refused.status, 403, JSON.stringify(refused.body));
  assert.match(errorOf(refused), /databases is not among the APIs that you may bind/);
  const { items } = await client.list<KubeObject>(namespaces);
  assert.ok(!items.some(({ metadata }) => JSON.stringify(metadata.annotations ?? {}).includes("#abc-2")));
});

test("Dex says slow_down to a backend that lost its pace, and the next interval is longer", async () => {
  const started = await begin(await newRun("abc-3"));
  await wait(started.interval);
  // Two replicas that do not know of each other take the same handle.
  const answers = await Promise.all([first, second].map(({ url }) => pollAt(url, started.handle)));
  const intervals = answers.map(({ status, body }) => {
    assert.equal(status, 202, JSON.stringify(body));
    const answer = decodeDevicePoll(202, body);
    return answer.kind === "pending" ? answer.interval : 0;
  });
  assert.deepEqual(new Set(intervals), new Set([started.interval, started.interval + 5]));
});

test("a service that is not offered is refused after the login, and words say so", async () => {
  const run = await newRun("abc-4");
  const started = await begin(run, "service=fridges");
  await approveAtDex(started.verificationUri, started.userCode, "developer");
  await wait(started.interval);
  const refused = await pollAt(first.url, started.handle);
  assert.equal(refused.status, 403);
  assert.match(errorOf(refused), /Service fridges is not among those that you may bind/);
});

test("neither logs nor metrics of the replicas hold a code or a handle", async () => {
  const logs = await Promise.all(
    ["one", "two"].map((name) => readFile(join(cluster.dataDir, `${name}.log`), "utf8")),
  );
  assert.match(logs.join(""), /a login on another device was approved/);
  const metrics = await (await fetch(`${first.probeUrl}/metrics`)).text();
  assert.ok(secrets.length >= 8);
  for (const secret of secrets) for (const text of [...logs, metrics]) assert.ok(!text.includes(secret));
});
