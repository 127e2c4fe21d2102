/**
 * Logins that a plugin confirms, with two replicas of the real backend, a real API server and a real identity provider. The plugin is scripted,
 * so that it can do what ours never does.
 */
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, test } from "node:test";
import {
  type AnswerKey,
  type BindingResponse,
  clusterKeyAnnotation,
  clusterProofText,
  confirmationText,
  decodeBindingResponse,
  identityAnnotation,
  type LoginOffer,
  newAnswerKey,
  newClusterKey,
  openBinding,
  openOffer,
  publicKeyOf,
  signText,
} from "@klutch/api";
import { createKubeClient, parseForeignKubeconfig } from "@klutch/kube";
import { isRecord, type KubeObject, namespaces } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { membersOf } from "../provisioning/members.ts";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { prepareReplicas } from "../testing/replicas.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, issuer, service, start } = await prepareReplicas(stack, "confirmed-login");
const { client } = cluster;
const [first, second] = await Promise.all([start("one"), start("two")]);
service.route(first.url);
await waitFor("the offer", async () => (await fetch(`${second.url}/export`)).ok);

/** An app cluster with its key. */
interface AppCluster {
  readonly id: string;
  readonly pem: string;
}
const appCluster = (id: string): AppCluster => ({ id, pem: newClusterKey() });

/** A login that waits for its confirmation. */
interface Waiting {
  readonly offer: LoginOffer;
  readonly key: AnswerKey;
  readonly port: number;
  readonly cluster: AppCluster;
}

function loginUrl(of: AppCluster, key: AnswerKey, port: number, sessionId = "session1"): string {
  const keys = { ek: key.publicKey, ck: publicKeyOf(of.pem) ?? "" };
  const query = new URLSearchParams({ s: sessionId, c: of.id, p: String(port), n: "prod", ...keys });
  return `${service.url}/authorize?${query.toString()}`;
}

/** Logs in as `person` in a browser of their own and chooses the API; stops where the browser would go to the plugin. */
async function logInAt(url: string, person: string): Promise<Landed> {
  const browser = new TestBrowser();
  const form = await browser.go(url);
  const page = await browser.submit(form, 'name="password"', { login: person, password: "x" });
  return browser.submit(page, 'value="databases"', {}, "http://localhost:");
}

async function logIn(of: AppCluster, person: string, port = 4321): Promise<Waiting> {
  const key = await newAnswerKey();
  const landed = await logInAt(loginUrl(of, key, port), person);
  assert.equal(landed.url.origin, `http://localhost:${port}`, landed.html);
  const offer = await openOffer(key, landed.url.searchParams.get("offer") ?? "");
  return { offer, key, port, cluster: of };
}

/** Changes to what a plugin signs. */
type Forgery = Partial<Parameters<typeof confirmationText>[0]> & { readonly pem?: string };

async function confirmation(waiting: Waiting, forged: Forgery = {}): Promise<object> {
  const { offer, key, port, cluster: of } = waiting;
  const answer: unknown = await (await fetch(`${service.url}/renew/challenge`, { method: "POST" })).json();
  const challenge = isRecord(answer) ? String(answer["challenge"]) : "";
  const { pem = of.pem, ...changes } = forged;
  const text = confirmationText({
    url: `${service.url}/confirm`,
    challenge,
    sessionId: offer.sessionId,
    clusterId: of.id,
    redirectUrl: `http://localhost:${port}/callback`,
    answerKey: key.publicKey,
    issuer: offer.issuer,
    subject: offer.subject,
    nonce: offer.nonce,
    ...changes,
  });
  return { ticket: offer.ticket, challenge, signature: signText(pem, text) };
}

async function send(
  body: object,
  to = service.url,
): Promise<{ readonly status: number; readonly answer: string; readonly error: string }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${to}/confirm`, { method: "POST", headers, body: JSON.stringify(body) });
  const value: unknown = await response.json();
  const { answer = "", error = "" } = isRecord(value) ? value : {};
  return { status: response.status, answer: String(answer), error: String(error) };
}

async function confirm(waiting: Waiting): Promise<BindingResponse> {
  const { status, answer, error } = await send(await confirmation(waiting));
  assert.equal(status, 200, error);
  return openBinding(waiting.key, answer);
}

const namespaceIn = ({ kubeconfig }: BindingResponse): string =>
  parseForeignKubeconfig(Buffer.from(kubeconfig, "base64").toString()).namespace ?? "";
const read = (name: string): Promise<KubeObject> => client.get<KubeObject>(namespaces, { name });
/** Everybody whose tenant this is. */
async function peopleOf(name: string): Promise<readonly string[]> {
  const tenant = await read(name);
  const founder = tenant.metadata.annotations?.[identityAnnotation]?.split("#")[0] ?? "";
  return [founder, ...membersOf(tenant).map(({ subject }) => subject)];
}
/** Tenants of all people. */
async function tenantNames(): Promise<readonly string[]> {
  const { items } = await client.list<KubeObject>(namespaces);
  return items
    .filter(({ metadata }) => metadata.annotations?.[identityAnnotation] !== undefined)
    .map(({ metadata }) => metadata.name ?? "");
}

test("a person logs in, and there is a tenant with a credential only after the plugin has confirmed", async () => {
  const before = await tenantNames();
  const waiting = await logIn(appCluster("first1"), "anna");
  const { offer } = waiting;
  assert.deepEqual([offer.issuer, offer.subject, offer.displayName], [issuer, "anna", "anna@example.org"]);
  assert.equal(offer.verifiedEmail, "anna@example.org");
  assert.equal(offer.tenant.relation, "founds");
  assert.deepEqual(await tenantNames(), before);
  const response = await confirm(waiting);
  assert.equal(response.authentication.oauth2CodeGrant.id, `${issuer}/anna`);
  assert.equal(namespaceIn(response), offer.tenant.name);
  const { metadata } = await read(offer.tenant.name);
  assert.equal(metadata.annotations?.[clusterKeyAnnotation], publicKeyOf(waiting.cluster.pem));
  const text = Buffer.from(response.kubeconfig, "base64").toString();
  await using tenant = createKubeClient(parseForeignKubeconfig(text));
  assert.equal((await tenant.get<KubeObject>(namespaces, { name: offer.tenant.name })).kind, "Namespace");
});

test("a second person of the app cluster is told that they join, and is a member after the confirmation, not before", async () => {
  const of = appCluster("second");
  const name = namespaceIn(await confirm(await logIn(of, "berta")));
  const waiting = await logIn(of, "carl");
  assert.deepEqual(waiting.offer.tenant, { name, relation: "joins" });
  assert.deepEqual(await peopleOf(name), ["berta"]);
  assert.equal(namespaceIn(await confirm(waiting)), name);
  assert.deepEqual(await peopleOf(name), ["berta", "carl"]);
  await waitFor("the cache", async () => (await logIn(of, "carl")).offer.tenant.relation === "member");
});

test("who copies the address of a login gets neither the tenant nor a credential, whatever is changed in it", async () => {
  const of = appCluster("victim");
  const name = namespaceIn(await confirm(await logIn(of, "dora")));
  const before = await tenantNames();
  const key = await newAnswerKey();
  const seen = new URL(loginUrl(of, key, 4321));
  // The redirect to a port of Mallory's: the offer is sealed for dora's plugin.
  seen.searchParams.set("p", "6666");
  const copied = await logInAt(seen.href, "mallory");
  assert.equal(copied.url.origin, "http://localhost:6666");
  const sealed = copied.url.searchParams.get("offer") ?? "";
  assert.equal(copied.url.searchParams.get("response"), null);
  await assert.rejects(openOffer(await newAnswerKey(), sealed), /was not sealed for this login/);
  // The key of the answer as well: the offer opens, and nothing of dora's app cluster signs it.
  const mallory = await newAnswerKey();
  seen.searchParams.set("ek", mallory.publicKey);
  const stolen = await logInAt(seen.href, "mallory");
  const offer = await openOffer(mallory, stolen.url.searchParams.get("offer") ?? "");
  const waiting = { offer, key: mallory, port: 6666, cluster: of };
  for (const forged of [{ pem: newClusterKey() }, { pem: newClusterKey(), subject: "dora" }]) {
    const refused = await send(await confirmation(waiting, forged));
    assert.deepEqual([refused.status, refused.answer], [403, ""], refused.error);
  }
  // Without the keys the address is that of an older plugin that proves nothing.
  for (const parameter of ["ek", "ck"]) seen.searchParams.delete(parameter);
  const plain = await logInAt(seen.href, "mallory");
  const own = namespaceIn(decodeBindingResponse(plain.url.searchParams.get("response") ?? ""));
  assert.notEqual(own, name);
  assert.deepEqual(await peopleOf(name), ["dora"]);
  assert.deepEqual(
    (await tenantNames()).filter((one) => !before.includes(one)),
    [own],
  );
});

test("a confirmation counts once, at every replica, also for two at the same moment", async () => {
  const of = appCluster("replay");
  const founding = await logIn(of, "emil");
  const body = await confirmation(founding);
  const all = await Promise.all([send(body, first.url), send(body, second.url)]);
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200, 409]));
  for (const replica of [first, second]) {
    assert.equal((await send(body, replica.url)).status, 409);
    assert.equal((await send(await confirmation(founding), replica.url)).status, 409);
  }
  const joining = await logIn(of, "frida");
  const joined = await confirmation(joining);
  assert.equal((await send(joined, first.url)).status, 200);
  assert.equal((await send(joined, second.url)).status, 409);
  assert.match((await send(joined, second.url)).error, /used already/);
});

const otherKey = (await newAnswerKey()).publicKey;
const forgeries: Readonly<Record<string, Forgery>> = {
  "another person": { subject: "mallory" },
  "the person of another issuer": { issuer: "https://evil.example" },
  "another session": { sessionId: "session2" },
  "another redirect": { redirectUrl: "http://localhost:6666/callback" },
  "another app cluster": { clusterId: "gerdas" },
  "another key of the answer": { answerKey: otherKey },
  "another backend": { url: "https://evil.example/confirm" },
  "another login": { nonce: "A".repeat(43) },
  "an older challenge": { challenge: "made-up" },
};
for (const [what, forged] of Object.entries(forgeries)) {
  test(`a signature for ${what} confirms nothing`, async () => {
    const before = await tenantNames();
    const refused = await send(await confirmation(await logIn(appCluster("forged"), "gerda"), forged));
    assert.deepEqual([refused.status, refused.answer], [403, ""]);
    assert.deepEqual(await tenantNames(), before);
  });
}

test("a body that is no confirmation is refused with its reason, and a ticket of another kind opens nothing", async () => {
  const waiting = await logIn(appCluster("broken"), "hans");
  const good = await confirmation(waiting);
  const challenge = isRecord(good) ? String(good["challenge"]) : "";
  for (const [body, status] of [
    [{}, 400],
    [[], 400],
    [{ ...good, ticket: 7 }, 400],
    [{ ...good, ticket: "x".repeat(20_000) }, 400],
    // A challenge is sealed with the same keys for another purpose.
    [{ ...good, ticket: challenge }, 400],
    [{ ...good, challenge: waiting.offer.ticket.slice(0, 2_000) }, 401],
    [{ ...good, signature: "" }, 400],
  ] as const)
    assert.equal((await send(body)).status, status, JSON.stringify(body).slice(0, 200));
});

test("keys that are none are refused before the login begins", async () => {
  const url = new URL(loginUrl(appCluster("nokeys"), await newAnswerKey(), 1));
  for (const [name, value] of [
    ["ek", "A".repeat(43)],
    ["ek", "short"],
    ["ck", "x"],
    ["ck", ""],
  ] as const) {
    const wrong = new URL(url);
    wrong.searchParams.set(name, value);
    const page = await new TestBrowser().go(wrong.href);
    assert.equal(page.status, 400);
    assert.match(page.html, /ek and ck in the query/);
  }
});

/** The address of a login of our previous release: the proof stands in it. */
async function earlierUrl(of: AppCluster, port: number): Promise<string> {
  const login = { sessionId: "session1", clusterId: of.id };
  const answer: unknown = await (await fetch(`${service.url}/renew/challenge`, { method: "POST" })).json();
  const challenge = isRecord(answer) ? String(answer["challenge"]) : "";
  const signature = signText(of.pem, clusterProofText(`${service.url}/renew`, login, challenge));
  const proof = { k: publicKeyOf(of.pem) ?? "", h: challenge, g: signature };
  const query = new URLSearchParams({ s: login.sessionId, c: of.id, p: String(port), ...proof });
  return `${service.url}/authorize?${query.toString()}`;
}

test("a plugin of the previous release founds and joins as before, and its address lets one person join", async () => {
  const of = appCluster("earlier");
  const url = await earlierUrl(of, 4321);
  const landed = await logInAt(url, "ida");
  const name = namespaceIn(decodeBindingResponse(landed.url.searchParams.get("response") ?? ""));
  assert.equal((await read(name)).metadata.annotations?.[clusterKeyAnnotation], publicKeyOf(of.pem));
  await waitFor("the cache", async () => (await logIn(of, "ida")).offer.tenant.relation === "member");
  // A person who sees it later is refused, with any redirect.
  const late = new URL(url);
  late.searchParams.set("p", "6666");
  const refused = await logInAt(late.href, "mallory");
  assert.equal(refused.status, 409);
  assert.match(refused.html, /used already/);
  assert.deepEqual(await peopleOf(name), ["ida"]);
  const joined = await logInAt(await earlierUrl(of, 4321), "jan");
  assert.equal(namespaceIn(decodeBindingResponse(joined.url.searchParams.get("response") ?? "")), name);
  assert.deepEqual(await peopleOf(name), ["ida", "jan"]);
});

/** Asks for a challenge from an address of this machine; gives back the status. */
async function challengeFrom(localAddress: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request(`${first.url}/renew/challenge`, { method: "POST", localAddress }, (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  });
  sent.on("error", reject).end();
  return promise;
}

test("a flood of challenges from one address does not keep another from its own", async () => {
  const stop = new AbortController();
  const flooded: number[] = [];
  const flood = async (): Promise<void> => {
    while (!stop.signal.aborted) flooded.push(await challengeFrom("127.0.0.1"));
  };
  const writers = Array.from({ length: 16 }, flood);
  await waitFor("the flood to be held off", () => flooded.filter((status) => status === 429).length > 50);
  const honest: number[] = [];
  // Five in a second are modest.
  for (let index = 0; index < 5; index++) honest.push(await challengeFrom("127.0.0.2"));
  stop.abort();
  await Promise.all(writers);
  assert.deepEqual(honest, [200, 200, 200, 200, 200]);
});

test("both ways are counted, and a backend can refuse the old one", async () => {
  const text = await (await fetch(`${first.probeUrl}/metrics`)).text();
  assert.match(text, /^klutch_logins_total\{way="confirmed"\} [1-9]/m);
  assert.match(text, /^klutch_logins_total\{way="redirect"\} [1-9]/m);
  const strict = await start("strict", "--require-confirmed-login");
  const begin = (url: string): Promise<Response> =>
    fetch(url.replace(service.url, strict.url), { redirect: "manual" });
  const refused = await begin(await earlierUrl(appCluster("strict"), 4321));
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /Install a current kubectl bind/);
  const taken = await begin(loginUrl(appCluster("strict"), await newAnswerKey(), 4321));
  assert.equal(taken.status, 302);
});
