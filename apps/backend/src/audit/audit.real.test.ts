/**
 * Tests the audit log of the backend as a process, with an identity provider and a real API server: each decision has a line, and nothing that
 * opens a door is in any line of the log.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  apiServiceExportRequests,
  apiServiceExportTemplates,
  confirmationText,
  decodeBindingResponse,
  newAnswerKey,
  newClusterKey,
  openBinding,
  openOffer,
  publicKeyOf,
  signText,
} from "@klutch/api";
import { parseForeignKubeconfig } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  events,
  type KubeObject,
  textAt,
} from "@klutch/kube-core";
import { allowPeople, crdObject, ruleOn, unlimitedClient, waitFor } from "@klutch/kube-testing";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { databases, ownClaim, templateObject } from "../testing/provider.ts";
import { prepareReplicas } from "../testing/replicas.ts";
import { exportRequest } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, service, start } = await prepareReplicas(stack, "audit");
const { client } = cluster;
const permissionClaims = [ownClaim("secrets"), ownClaim("configmaps")];
await client.mergePatch(
  apiServiceExportTemplates,
  { namespace: "default", name: "databases" },
  { spec: { permissionClaims } },
);
await client.create<KubeObject>(
  customResourceDefinitions,
  crdObject({ ...databases, plural: "queues", kind: "Queue" }),
);
await client.create(apiServiceExportTemplates, templateObject("example.org", "queues"));
await allowPeople(client, "bind", ruleOn(apiServiceExportTemplates, ["bind"], ["databases"]), [
  ["User", "oidc:ann"],
  ["User", "oidc:cleo"],
]);
const backend = await start("backend", "--bind-authorization=rbac", "--trusted-proxies=1");
service.route(backend.url);

type Line = Readonly<Record<string, unknown>>;
const log = (): Promise<string> => readFile(join(cluster.dataDir, "backend.log"), "utf8");
const records = async (): Promise<readonly Line[]> =>
  (await log())
    .split("\n")
    .filter((line) => line.includes('"component":"audit"'))
    .map((line) => JSON.parse(line) as Line);
const without = (line: Line): Line =>
  Object.fromEntries(
    Object.entries(line).filter(([key]) => !["time", "level", "component", "msg", "requestID"].includes(key)),
  );

/** Secrets that came by. */
const canaries = new Set<string>();
const forwarded = { "x-forwarded-for": "203.0.113.9, 198.51.100.7" };

/** Logs in at the URL; every code and cookie on the way is a canary. */
async function logIn(
  url: string,
  person: string,
): Promise<{ readonly browser: TestBrowser; readonly page: Landed }> {
  const browser = new TestBrowser();
  const form = await browser.go(url);
  const back = await browser.submit(
    form,
    'name="password"',
    { login: person, password: "canary-of-the-password" },
    `${service.url}/callback`,
  );
  canaries.add(back.url.searchParams.get("code") ?? "").add(back.url.searchParams.get("state") ?? "");
  const page = await browser.go(back.url.href);
  for (const jar of browser.cookies.values()) for (const value of jar.values()) canaries.add(value);
  return { browser, page };
}

const appCluster = newClusterKey();

/** Logs in with a plugin that confirms; gives back the kubeconfig. */
async function bindConfirmed(person: string): Promise<string> {
  const key = await newAnswerKey();
  const keys = { ek: key.publicKey, ck: publicKeyOf(appCluster) ?? "" };
  const query = new URLSearchParams({
    s: "session1",
    c: "abc123",
    p: "4321",
    n: "prod\u001b[31m eu",
    ...keys,
  });
  const { browser, page } = await logIn(`${service.url}/authorize?${query.toString()}`, person);
  const landed = await browser.submit(page, 'value="databases"', {}, "http://localhost:");
  const sealed = landed.url.searchParams.get("offer") ?? "";
  const offer = await openOffer(key, sealed);
  const asked: unknown = await (await fetch(`${service.url}/renew/challenge`, { method: "POST" })).json();
  const challenge = textAt(asked, "challenge") ?? "";
  const { sessionId, issuer, subject, nonce, ticket } = offer;
  const place = {
    url: `${service.url}/confirm`,
    clusterId: "abc123",
    redirectUrl: "http://localhost:4321/callback",
  };
  const text = confirmationText({
    ...place,
    challenge,
    sessionId,
    answerKey: key.publicKey,
    issuer,
    subject,
    nonce,
  });
  const body = { ticket, challenge, signature: signText(appCluster, text) };
  const headers = { "content-type": "application/json", ...forwarded };
  const post = (): Promise<Response> =>
    fetch(place.url, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = textAt(await (await post()).json(), "answer") ?? "";
  const { kubeconfig } = await openBinding(key, answer);
  for (const one of [sealed, ticket, challenge, body.signature, answer, kubeconfig, nonce]) canaries.add(one);
  const plain = Buffer.from(kubeconfig, "base64").toString();
  canaries.add(/token: "?([^"\n]+)/.exec(plain)?.[1] ?? "no token");
  // The same confirmation again.
  assert.equal((await post()).status, 409);
  return plain;
}

let namespace = "";

test("a confirmed login leaves a line for the founder and one for the bind, and its replay a refusal", async () => {
  namespace = parseForeignKubeconfig(await bindConfirmed("ann")).namespace ?? "";
  const [founded, bound, replayed, ...others] = (await records()).map(without);
  const person = {
    issuer: founded?.["person"] && textAt(founded["person"], "issuer"),
    subject: "ann",
    user: "oidc:ann",
  };
  const from = { person, cluster: "prod [31m eu", way: "confirmed", address: "198.51.100.7" };
  assert.deepEqual(founded, {
    decision: "addMember",
    allowed: true,
    reason: "Founded",
    tenant: namespace,
    ...from,
  });
  const apis = ["databases.example.org"];
  assert.deepEqual(bound, {
    decision: "bind",
    allowed: true,
    reason: "Allowed",
    tenant: namespace,
    apis,
    ...from,
  });
  assert.deepEqual(
    [replayed?.["decision"], replayed?.["allowed"], replayed?.["reason"]],
    ["bind", false, "Conflict"],
  );
  assert.deepEqual(others, []);
});

test("a second person is recorded as one who joins", async () => {
  await bindConfirmed("cleo");
  const joined = (await records()).map(without).findLast(({ decision }) => decision === "addMember");
  assert.deepEqual([joined?.["reason"], joined?.["tenant"]], ["Joined", namespace]);
  assert.equal(textAt(joined?.["person"], "user"), "oidc:cleo");
});

test("a refused person is recorded with the API that a forged form asked for, and no tenant", async () => {
  const { browser, page } = await logIn(`${service.url}/authorize?s=session2&c=bobs&p=4321`, "ann");
  const forged = { ...page, html: page.html.replaceAll('value="databases"', 'value="queues"') };
  const refused = await browser.submit(forged, 'value="queues"', {}, "http://localhost:4321");
  assert.equal(refused.status, 403);
  const { decision, allowed, reason, apis, tenant, way } = (await records()).at(-1) ?? {};
  assert.deepEqual(
    [decision, allowed, reason, apis, tenant, way],
    ["bind", false, "NotAllowed", ["queues.example.org"], undefined, "redirect"],
  );
});

test("an app cluster's own requests are recorded once each, with the permission claims that it accepted", async () => {
  await using tenant = unlimitedClient(cluster, { namespace, name: "klutch-binder" });
  await tenant.create(apiServiceExportRequests, exportRequest({ namespace, name: "queues" }, "queues"));
  await tenant.create(
    apiServiceExportRequests,
    exportRequest({ namespace, name: "databases" }, "databases", [ownClaim("secrets"), ownClaim("pods")]),
  );
  const seen = await waitFor("the records", async () => {
    const found = (await records()).map(without).filter(({ way }) => way === "controller");
    return found.length >= 3 ? found : undefined;
  });
  // A request that waits is looked at again every five seconds.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const again = (await records()).filter(({ way }) => way === "controller");
  assert.equal(again.length, 3);
  const of = (decision: string, allowed: boolean): Line | undefined =>
    seen.find((line) => line["decision"] === decision && line["allowed"] === allowed);
  const subject = { tenant: namespace, way: "controller", apis: ["databases.example.org"] };
  assert.deepEqual(of("export", true), { decision: "export", allowed: true, reason: "Exported", ...subject });
  assert.deepEqual(of("acceptClaims", true), {
    decision: "acceptClaims",
    allowed: true,
    reason: "Accepted",
    permissionClaims: ["secrets"],
    ...subject,
  });
  const refused = of("export", false);
  assert.deepEqual([refused?.["reason"], refused?.["apis"]], ["NotAllowed", ["queues.example.org"]]);
});

test("the Tenant tells the same as events, each once", async () => {
  const told = await waitFor("the events", async () => {
    const { items } = await client.list<DynamicObject>(events, { namespace });
    const ofTenant = items.filter((event) => textAt(event, "involvedObject", "kind") === "Tenant");
    const found = ofTenant
      .map((event) => `${textAt(event, "reason")}: ${textAt(event, "message")}`)
      .toSorted();
    return found.length >= 6 ? found : undefined;
  });
  const [refused = "", ...others] = told;
  assert.match(
    refused,
    /^AccessRefused: the app cluster got no queues\.example\.org: no one with the right to bind queues\.example\.org/,
  );
  assert.deepEqual(others, [
    "Bound: oidc:ann bound databases.example.org",
    "Bound: oidc:cleo bound databases.example.org",
    "ClaimsAccepted: accepted for databases.example.org: secrets",
    "MemberAdded: oidc:ann may act for this app cluster now",
    "MemberAdded: oidc:cleo may act for this app cluster now",
  ]);
});

test("a konnector without a key that wants to come back is recorded with its address", async () => {
  const body = JSON.stringify({
    namespace,
    challenge: "canary-of-the-challenge",
    signature: "canary-of-signature",
  });
  canaries.add("canary-of-the-challenge").add("canary-of-signature");
  const headers = { "content-type": "application/json", ...forwarded };
  const answer = await fetch(`${service.url}/renew`, { method: "POST", headers, body });
  assert.equal(answer.status, 403);
  assert.deepEqual(without((await records()).at(-1) ?? {}), {
    decision: "renew",
    allowed: false,
    reason: "Challenge",
    tenant: namespace,
    way: "renewal",
    address: "198.51.100.7",
  });
});

test("no line of the log holds a code, cookie, ticket, signature, key, token or kubeconfig", async () => {
  const { browser, page } = await logIn(`${service.url}/authorize?s=session3&c=other&p=4321`, "ann");
  const answer = await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
  const response = answer.url.searchParams.get("response") ?? "";
  canaries.add(response).add(decodeBindingResponse(response).kubeconfig);
  canaries
    .add("canary-of-the-password")
    .add("a-client-secret-of-the-tests")
    .add(appCluster.split("\n")[1] ?? "");
  assert.ok(canaries.size > 20 && !canaries.has(""), [...canaries].map((one) => one.slice(0, 8)).join());
  const text = await log();
  for (const canary of canaries) assert.ok(!text.includes(canary), canary.slice(0, 12));
  const metrics = await (await fetch(`${backend.probeUrl}/metrics`)).text();
  assert.match(
    metrics,
    /^klutch_audit_decisions_total\{decision="bind",allowed="false",reason="NotAllowed"\} [1-9]/m,
  );
  for (const canary of canaries) assert.ok(!metrics.includes(canary), canary.slice(0, 12));
});
