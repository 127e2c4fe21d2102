/** Several APIs of one login at two replicas of the shipped backend, with RBAC of a real API server, and a plugin that confirms the login. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type AnswerKey,
  apiServiceExportTemplates,
  type BindingResponse,
  confirmationText,
  grants,
  type Grant,
  identityAnnotation,
  newAnswerKey,
  newClusterKey,
  openBinding,
  openOffer,
  publicKeyOf,
  serviceTypeFieldAnnotation,
  serviceTypeLabel,
  signText,
} from "@klutch/api";
import {
  customResourceDefinitions,
  isRecord,
  type KubeObject,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { allowPeople, crdObject, ruleOn, waitFor } from "@klutch/kube-testing";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { databases, templateObject } from "../testing/provider.ts";
import { prepareReplicas, switchTo } from "../testing/replicas.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, service, start } = await prepareReplicas(stack, "several-apis");
const { client } = cluster;

/** Offers a kind, or only its template. */
async function offer(kind: string, metadata: object, hasCrd = true): Promise<void> {
  const type: ResourceType = { ...databases, plural: `${kind.toLowerCase()}s`, kind };
  const spec = { type: "object", properties: { serviceType: { type: "string" } } };
  if (hasCrd)
    await client.create<KubeObject>(customResourceDefinitions, crdObject(type, { properties: { spec } }));
  const template = templateObject(type.group, type.plural);
  await client.create(apiServiceExportTemplates, {
    ...template,
    metadata: { ...template.metadata, ...metadata },
  });
}
await offer("Queue", { labels: { [serviceTypeLabel]: "queue" } });
await offer("Login", { annotations: { [serviceTypeFieldAnnotation]: "spec.serviceType" } });
await offer("Missing", { labels: { [serviceTypeLabel]: "missing" } }, false);
await offer("Secretive", {});
// Ann may bind everything except `secretives`.
const named = ["databases", "queues", "logins", "missings"];
await allowPeople(client, "ann", ruleOn(apiServiceExportTemplates, ["bind"], named), [["User", "oidc:ann"]]);
const flags = ["--bind-authorization=rbac", "--oidc-username-claim=sub"];
const [first, second] = await Promise.all([start("one", ...flags), start("two", ...flags)]);
service.route(first.url);

const pem = newClusterKey();

/** Logs in with a wish. */
async function logIn(browser: TestBrowser, key: AnswerKey, m: string): Promise<Landed> {
  const keys = { ek: key.publicKey, ck: publicKeyOf(pem) ?? "" };
  const query = new URLSearchParams({ s: "session1", c: "cluster1", p: "4321", m, ...keys });
  const form = await browser.go(`${service.url}/authorize?${query.toString()}`);
  return browser.submit(form, 'name="password"', { login: "ann", password: "x" });
}

async function bind(browser: TestBrowser, page: Landed, apis: readonly string[]): Promise<Landed> {
  const csrf = /name="csrf" value="([^"]*)"/.exec(page.html)?.[1] ?? "";
  const body = new URLSearchParams([["s", "session1"], ["csrf", csrf], ...apis.map((api) => ["api", api])]);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return browser.go(
    `${service.url}/bind`,
    { method: "POST", body: body.toString(), headers },
    "http://localhost:4321",
  );
}

async function confirm(key: AnswerKey, landed: Landed): Promise<BindingResponse> {
  const made = await openOffer(key, landed.url.searchParams.get("offer") ?? "");
  const answer: unknown = await (await fetch(`${service.url}/renew/challenge`, { method: "POST" })).json();
  const challenge = isRecord(answer) ? String(answer["challenge"]) : "";
  const text = confirmationText({
    url: `${service.url}/confirm`,
    challenge,
    sessionId: "session1",
    clusterId: "cluster1",
    redirectUrl: "http://localhost:4321/callback",
    answerKey: key.publicKey,
    issuer: made.issuer,
    subject: made.subject,
    nonce: made.nonce,
  });
  const body = JSON.stringify({ ticket: made.ticket, challenge, signature: signText(pem, text) });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${service.url}/confirm`, { method: "POST", headers, body });
  const value: unknown = await response.json();
  assert.equal(response.status, 200, JSON.stringify(value));
  return openBinding(key, isRecord(value) ? String(value["answer"]) : "");
}

const tenants = async (): Promise<number> =>
  (await client.list<KubeObject>(namespaces)).items.filter(
    ({ metadata }) => metadata.annotations?.[identityAnnotation] !== undefined,
  ).length;

test("the page groups what the person may bind, and says why a template offers nothing, without the names of kinds that the person may not bind", async () => {
  const page = await waitFor("the status of the template", async () => {
    const one = await logIn(new TestBrowser(), await newAnswerKey(), "all");
    assert.match(one.html, /Not available now/);
    return one;
  });
  assert.match(
    page.html,
    /<code>missings\.example\.org<\/code>: its kind does not exist at the provider \(CRDNotFound\)\./,
  );
  assert.match(page.html, /All of queue: <span class="soft">Queue, Login</);
  // The message of the condition names all kinds of the group.
  assert.doesNotMatch(page.html, /secretives/);
  const ticked = [...page.html.matchAll(/name="api" value="([^"]*)" checked/g)].map(([, name]) => name);
  assert.deepEqual(ticked, ["queues.example.org", "logins.example.org", "databases.example.org"]);
});

test("a forged form with one API that the person may not bind makes nothing, and neither does one that is not offered", async () => {
  const browser = new TestBrowser();
  const page = await logIn(browser, await newAnswerKey(), "1");
  for (const [api, status] of [
    ["secretives.example.org", 403],
    ["missings.example.org", 404],
    ["nothings.example.org", 404],
  ] as const) {
    const refused = await bind(browser, page, ["queues.example.org", api]);
    assert.equal(refused.status, status, api);
    assert.match(refused.html, new RegExp(api.replaceAll(".", "\\.")));
  }
  assert.equal(await tenants(), 0);
});

test("three APIs are bound with one login that began at one replica and ended at the other, each with its Grant", async () => {
  const browser = new TestBrowser();
  const key = await newAnswerKey();
  const page = await logIn(browser, key, "service=queue");
  await switchTo(service, second);
  const three = ["databases.example.org", "logins.example.org", "queues.example.org"];
  const landed = await bind(browser, page, three);
  assert.equal(landed.status, 303, landed.html);
  assert.equal(await tenants(), 0, "nothing before the confirmation");
  const { requests } = await confirm(key, landed);
  assert.deepEqual(
    requests.map(({ metadata }) => metadata.name).toSorted((a, b) => a.localeCompare(b)),
    three,
  );
  assert.equal(await tenants(), 1);
  const { items } = await client.list<Grant>(grants);
  assert.equal(items.length, 3);
});
