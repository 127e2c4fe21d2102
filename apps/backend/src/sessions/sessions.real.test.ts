/**
 * Sessions the whole way at a real Dex, with two replicas of the real backend and a real API server: login, list, bind without a browser, logout.
 * The plugin is scripted, so that it can do what ours never does.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  apiServiceExportRequests,
  type BindingResponse,
  clusterProofText,
  decodeBindingProvider,
  decodeChallengeOffer,
  decodeDeviceLoginStart,
  type Grant,
  grants,
  type IssuedSession,
  newAnswerKey,
  newClusterKey,
  openSession,
  openSessionOffer,
  publicKeyOf,
  sessionPrefix,
  sessionUrls,
  signText,
} from "@klutch/api";
import { dexPassword } from "@klutch/engines";
import { createKubeClient, parseForeignKubeconfig, systemClock } from "@klutch/kube";
import {
  clusterRoleBindings,
  type DynamicObject,
  type KubeObject,
  type Lease,
  leases,
  namespaces,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { TestBrowser } from "../testing/browser.ts";
import { addressOf, approveAtDex, type DexPerson, prepareDexReplicas } from "../testing/dex.ts";
import { endedSessionsLease } from "./ended-sessions.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, issuer, service, start, flags, replicas } = await prepareDexReplicas(stack, "sessions");
const { client } = cluster;
const [first, second] = replicas;

const key = await newAnswerKey();
/** All that must be in no log, and all URLs of browsers. */
const secret: string[] = [];
const visited: string[] = [];

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function send(url: string, session?: string, body?: object): Promise<Answer> {
  const headers = {
    "content-type": "application/json",
    ...(session === undefined ? {} : { authorization: `Bearer ${session}` }),
  };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(url, init);
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

/** Takes the offer up at the other replica than that of the login. */
async function take(sealed: string): Promise<IssuedSession> {
  const offer = await openSessionOffer(key, sealed);
  secret.push(offer.ticket);
  const { status, body } = await send(`${second.url}/session`, undefined, { ticket: offer.ticket });
  assert.equal(status, 200, JSON.stringify(body));
  const session = await openSession(key, String(body["answer"]));
  secret.push(session.session, session.session.slice(sessionPrefix.length));
  return session;
}

async function logIn(person: DexPerson = "developer"): Promise<IssuedSession> {
  const browser = new TestBrowser();
  const query = new URLSearchParams({ t: "session", p: "4321", s: "login1", ek: key.publicKey });
  const form = await browser.go(`${service.url}/authorize?${query.toString()}`);
  const values = { login: addressOf(person), password: dexPassword };
  const back = await browser.submit(form, 'name="password"', values, "http://localhost:4321");
  visited.push(...browser.visited, back.url.href);
  return take(back.url.searchParams.get("offer") ?? "");
}

const urlsAt = (url: string): ReturnType<typeof sessionUrls> => sessionUrls(`${url}/session`);
const list = (session: string, at = first): Promise<Answer> => send(urlsAt(at.url).templates, session);
const bind = (session: string, body: object, at = first): Promise<Answer> =>
  send(urlsAt(at.url).bind, session, body);

test("a backend with sessions says so, and plugins read it", async () => {
  const provider = decodeBindingProvider(await (await fetch(`${service.url}/export`)).json());
  assert.equal(provider.sessionUrl, `${service.url}/session`);
});

test("login, list, bind without a browser, logout: then both replicas refuse the session, and one that starts later", async () => {
  const { session, id, verifiedEmail, subject } = await logIn();
  assert.equal(verifiedEmail, addressOf("developer"));
  for (const replica of [first, second]) {
    const { status, body } = await list(session, replica);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      (body["items"] as readonly { readonly resource: string }[]).map(({ resource }) => resource),
      ["databases"],
    );
  }
  // As the plugin proves its app cluster: the proof is for this session.
  const pem = newClusterKey();
  const { body: offered } = await send(urlsAt(first.url).challenge, undefined, {});
  const { challenge, url = "" } = decodeChallengeOffer(offered);
  const signed = clusterProofText(url, { sessionId: id, clusterId: "abc1" }, challenge);
  const proof = { publicKey: publicKeyOf(pem), challenge, signature: signText(pem, signed) };
  const request = { clusterID: "abc1", clusterName: "prod", wish: "apis=databases", proof };
  const bound = await bind(session, request, second);
  assert.equal(bound.status, 200, JSON.stringify(bound.body));
  const response = bound.body as unknown as BindingResponse;
  assert.deepEqual(response.authentication.oauth2CodeGrant, { sid: id, id: `${issuer}/${subject}` });
  const kubeconfig = parseForeignKubeconfig(Buffer.from(response.kubeconfig, "base64").toString());
  const namespace = kubeconfig.namespace ?? "";
  await using tenant = createKubeClient(kubeconfig);
  const [wanted] = response.requests;
  const object = { ...wanted, metadata: { namespace, name: wanted?.metadata.name } } as DynamicObject;
  await tenant.create<DynamicObject>(apiServiceExportRequests, object);
  const records = (await client.list<Grant>(grants, { namespace })).items;
  assert.deepEqual(
    records.map(({ spec }) => [spec.identity.user, spec.api.resource, spec.way, spec.clusterName]),
    [[`oidc:${addressOf("developer")}`, "databases", "session", "prod"]],
  );
  // Who finds the session alone does not get to the tenant of this app cluster.
  await waitFor("the tenant to be known", async () => {
    const { body } = await bind(session, { clusterID: "abc1", wish: "apis=databases" });
    return String(body["error"]).includes(`opens tenant ${namespace} only with the key`);
  });
  assert.equal((await send(urlsAt(second.url).logout, session, {})).status, 200);
  const third = await start("three", ...flags);
  for (const replica of [first, second, third]) {
    for (const answer of [await list(session, replica), await bind(session, request, replica)])
      assert.deepEqual([answer.status, answer.body["error"]], [401, "Your session was ended by a logout."]);
    assert.equal((await send(urlsAt(replica.url).logout, session, {})).status, 401);
  }
});

test("twelve logouts at two replicas at once are all remembered, and a later session of the person counts", async () => {
  const sessions = [];
  for (let count = 0; count < 12; count++) sessions.push((await logIn()).session);
  const ends = await Promise.all(
    sessions.map((one, index) => send(urlsAt((index % 2 === 0 ? first : second).url).logout, one, {})),
  );
  // A further one than five ends all sessions of the person, also those whose logout comes after it.
  for (const { status, body } of ends)
    assert.ok(
      status === 200 || (status === 401 && body["error"] === "Your session was ended by a logout."),
      `${status} ${JSON.stringify(body)}`,
    );
  for (const one of sessions) assert.equal((await list(one)).status, 401);
  assert.equal((await list((await logIn()).session)).status, 200);
});

test("a person logs in on another device, and the session is theirs", async () => {
  const request = { loginId: "login1", answerKey: key.publicKey };
  const { status, body } = await send(urlsAt(service.url).device, undefined, request);
  assert.equal(status, 200, JSON.stringify(body));
  const started = decodeDeviceLoginStart(body);
  secret.push(started.handle, started.userCode);
  await approveAtDex(started.verificationUri, started.userCode, "developer");
  await systemClock.sleep(started.interval * 1000);
  const poll = { handle: started.handle };
  const polled = await send(`${urlsAt(second.url).device}/poll`, undefined, poll);
  assert.equal(polled.status, 200, JSON.stringify(polled.body));
  const { session, verifiedEmail } = await take(String(polled.body["offer"]));
  assert.equal(verifiedEmail, addressOf("developer"));
  assert.equal((await list(session)).status, 200);
  // A handle of a login that binds is none of these, and the other way round.
  const crossed = await send(`${first.url}/device/poll`, undefined, poll);
  assert.match(String(crossed.body["error"]), /was not made at this backend/);
});

test("a person without the right gets words, and nothing is made", async () => {
  const { session } = await logIn("mallory");
  const listed = await list(session);
  assert.deepEqual([listed.status, listed.body["error"]], [403, "There is no API that you may bind here."]);
  const body = { clusterID: "mallorys", apis: [{ group: "example.org", resource: "databases" }] };
  const refused = await bind(session, body);
  assert.equal(refused.status, 403);
  assert.match(
    String(refused.body["error"]),
    /oidc:mallory@example\.com may not bind databases\.example\.org/,
  );
  const { items } = await client.list<KubeObject>(namespaces);
  assert.ok(!items.some(({ metadata }) => JSON.stringify(metadata.annotations ?? {}).includes("#mallorys")));
});

test("a list of ended sessions that cannot be read lets no session pass", async () => {
  const { session } = await logIn();
  const ref = { namespace: "default", name: endedSessionsLease };
  const { metadata } = await client.get<Lease>(leases, ref);
  const write = (text: string | null): Promise<unknown> =>
    client.mergePatch(leases, ref, {
      metadata: { annotations: { "klutch.anynines.com/ended-sessions": text } },
    });
  for (const lie of ["{", "{}", '[{"by":"x"}]']) {
    await write(lie);
    const { status, body } = await list(session);
    assert.equal(status, 503, lie);
    assert.match(String(body["error"]), /does not say at the moment which sessions were ended/);
  }
  await write(metadata.annotations?.["klutch.anynines.com/ended-sessions"] ?? null);
  assert.equal((await list(session)).status, 200);
});

test("a right that is withdrawn ends what a living session can do", async () => {
  const { session } = await logIn();
  assert.equal((await list(session)).status, 200);
  await client.delete(clusterRoleBindings, { name: "binds" });
  // Each replica remembers an answer of RBAC for ten seconds.
  for (const replica of [first, second])
    await waitFor("the refusal", async () => (await list(session, replica)).status === 403);
  const body = { clusterID: "abc9", apis: [{ group: "example.org", resource: "databases" }] };
  await waitFor("the refusal to bind", async () => {
    const { body: said } = await bind(session, body, second);
    return String(said["error"]).includes("may not bind databases.example.org");
  });
});

test("a login that binds still works beside one for a session in the same browser, and t must be known", async () => {
  const browser = new TestBrowser();
  const query = new URLSearchParams({ t: "session", p: "4321", s: "login1", ek: key.publicKey });
  await browser.go(`${service.url}/authorize?${query.toString()}`);
  const form = await browser.go(`${service.url}/authorize?s=session1&c=abc123&p=4321`);
  const values = { login: addressOf("developer"), password: dexPassword };
  const page = await browser.submit(form, 'name="password"', values);
  assert.equal(page.url.pathname, "/resources");
  for (const [changes, words] of [
    [{ t: "magic" }, /t=magic is not known; it must be session/],
    [{ ek: "x" }, /answer key is not an X25519 public key/],
    [{ p: "99999" }, /p=99999 is not a port/],
    [{ s: "a b" }, /needs s \(1 to 64 letters/],
  ] as const) {
    const changed = new URLSearchParams({ ...Object.fromEntries(query), ...changes });
    const refused = await browser.go(`${service.url}/authorize?${changed.toString()}`);
    assert.equal(refused.status, 400);
    assert.match(refused.html, words);
  }
});

test("an operator who closes this way has none of it", async () => {
  const closed = await start("closed", ...flags, "--session-lifetime=off");
  const provider = decodeBindingProvider(await (await fetch(`${closed.url}/export`)).json());
  assert.equal(provider.sessionUrl, undefined);
  const { session } = await logIn();
  for (const path of ["api/templates", "session", "logout"])
    assert.equal(
      (await fetch(`${closed.url}/${path}`, { method: path === "api/templates" ? "GET" : "POST" })).status,
      404,
    );
  const body = { clusterID: "abc1", apis: [{ group: "example.org", resource: "databases" }] };
  assert.equal((await bind(session, body, closed)).status, 404);
  const start400 = await fetch(`${closed.url}/authorize?t=session&p=4321&s=x&ek=${key.publicKey}`);
  assert.equal(start400.status, 400);
});

test("no log, audit line, metric, event, object or URL holds a session, a ticket or a handle", async () => {
  const names = ["one", "two", "three", "closed"];
  const logs = await Promise.all(names.map((name) => readFile(join(cluster.dataDir, `${name}.log`), "utf8")));
  const all = logs.join("");
  assert.match(all, /"decision":"login","allowed":true,"reason":"SessionIssued"/);
  assert.match(all, /"decision":"logout","allowed":true,"reason":"SessionEnded"/);
  assert.match(all, /a person bound APIs with a session/);
  const metrics = await (await fetch(`${second.probeUrl}/metrics`)).text();
  assert.match(metrics, /^klutch_logins_total\{way="session"\} 1$/m);
  const events = await client.request({ method: "GET", path: "/api/v1/events" });
  const objects = [
    events,
    await client.list(namespaces),
    await client.list(leases),
    await client.list(grants),
  ];
  assert.ok(secret.length > 20);
  const texts = [all, metrics, JSON.stringify(objects), visited.join("\n")];
  for (const one of secret) for (const text of texts) assert.ok(!text.includes(one));
});
