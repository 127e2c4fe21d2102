/** The console the whole way at a real Dex, with two replicas of the real backend and a real API server. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  apiServiceExportRequests,
  apiServiceExportTemplates,
  appClusterBindingAnnotation,
  clusterBindings,
  clusterNameAnnotation,
  costRules,
  grants,
  identityAnnotation,
  serviceNamespaceAnnotation,
  tenantName,
  tenants,
  usageLedgers,
} from "@klutch/api";
import { dexPassword, reservePorts } from "@klutch/engines";
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  type DynamicObject,
  events,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import { allowPeople, roleObject, ruleOn, secretObject, waitFor } from "@klutch/kube-testing";
import type { Viewer } from "@klutch/overview";
import { silentLogger } from "@klutch/telemetry";
import { watchCost } from "../cost/sources.ts";
import { watching } from "../watching.ts";
import { TestBrowser } from "../testing/browser.ts";
import { addressOf, type DexPerson, prepareDex, subjectOf } from "../testing/dex.ts";
import { databases } from "../testing/provider.ts";
import { prepareReplicas } from "../testing/replicas.ts";
import { createTenant, exportRequest, mapNamespace } from "../testing/tenants.ts";
import { actionTests, type Answer, type Body } from "./testing/action-tests.ts";
import { offerPriceTests } from "./testing/offer-price-tests.ts";
import { boundAccount, recordUsage } from "../testing/usage.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-console-"));
stack.defer(() => rm(folder, { recursive: true }));
await mkdir(join(folder, "assets"));
await writeFile(join(folder, "index.html"), '<meta property="csp-nonce" nonce="__CSP_NONCE__">');
await writeFile(join(folder, "assets", "index-1a2b.js"), "go()");

const [port = 0] = stack.use(await reservePorts(1)).ports;
const { cluster, service, start } = await prepareReplicas(stack, "console", async (owner, oidc) => {
  const dex = await prepareDex(owner, port, oidc);
  await dex.start();
  return dex.issuer;
});
const { client } = cluster;
const canary = "the-canary-secret";

const bomb = Object.fromEntries(
  Array.from({ length: 1_000 }, (_, index) => [`bomb-${index}.example.org/x`, "x"] as const),
);
const markup = "<script>alert(1)</script>\u0000\u202e";

const flags = [
  "--bind-authorization=everyone",
  "--oidc-username-claim=email",
  `--console-assets=${folder}`,
  "--console-actions",
];
// Before the console looks at them. The API server takes any number of seconds that is not negative.
await recordUsage(client, { mine: "small", theirs: "theirs-only" });
const month = new Date().toISOString().slice(0, 7);
const lie = { service: "pg", plan: "small", config: "broker", month, seconds: 2 ** 53 - 1, ended: 1 };
await client.create<DynamicObject>(usageLedgers, {
  apiVersion: "dataservices.anynines.com/v1",
  kind: "UsageLedger",
  metadata: { name: "theirs.damaged" },
  spec: { namespace: "theirs", year: 2026, rows: [lie] },
});

const first = await start("one", ...flags);
const second = await start("two", ...flags);
service.route(first.url);

/** Service namespaces by the tenant. */
const spaces = new Map<string, string>();

async function createApp(tenant: string, identity: string): Promise<void> {
  await createTenant(client, tenant, identity);
  const name = { annotations: { [clusterNameAnnotation]: `<b>${tenant}</b>` } };
  await client.mergePatch(clusterBindings, { namespace: tenant, name: "cluster" }, { metadata: name });
  await client.create(
    apiServiceExportRequests,
    exportRequest({ namespace: tenant, name: "databases" }, "databases"),
  );
  const space = await mapNamespace(client, { namespace: tenant, name: "team" });
  spaces.set(tenant, space);
  await client.create(secrets, secretObject(space, "creds", { password: canary }));
}

async function createClaim(tenant: string, name: string, status?: object, spec: object = {}): Promise<void> {
  const place = { namespace: spaces.get(tenant) ?? "", name };
  // Its own words name another tenant.
  const annotations = { [serviceNamespaceAnnotation]: "mine/team" };
  const metadata = { ...place, annotations, labels: bomb };
  await client.create<DynamicObject>(databases, {
    apiVersion: "example.org/v1",
    kind: "Database",
    metadata,
    spec,
  });
  if (status !== undefined) await client.mergePatch(databases, place, { status }, { subresource: "status" });
}

await createApp("mine", `${subjectOf("developer")}#abc1`);
await createApp("theirs", "someone-else#abc2");
const ready = { conditions: [{ type: "Ready", status: "True", reason: "Available" }] };
await createClaim("mine", "well", ready, { service: "pg", plan: "small" });
await createClaim("mine", "huge", {
  conditions: [{ type: "Ready", status: "False", reason: "Failed", message: markup + "x".repeat(1_000_000) }],
});
await createClaim("theirs", "secret-plan", undefined, { plan: "theirs-only" });
const operator = [["User", `oidc:${addressOf("operator")}`]] as const;
for (const [index, type] of [
  clusterBindings,
  apiServiceExportTemplates,
  databases,
  events,
  usageLedgers,
].entries())
  await allowPeople(client, `sees-${index}`, ruleOn(type, ["list"]), operator);

await allowPeople(client, "lists-grants", ruleOn(grants, ["list"]), operator);
await allowPeople(client, "lists-members", ruleOn(tenants, ["list"]), operator);
await allowPeople(client, "deletes-grants", ruleOn(grants, ["delete"]), operator);

/** Every answer that any browser got. */
const answers: string[] = [];

async function logIn(person: DexPerson): Promise<TestBrowser> {
  const browser = new TestBrowser();
  const form = await browser.go(`${service.url}/console/login`);
  const values = { login: addressOf(person), password: dexPassword };
  const last = await browser.submit(form, 'name="password"', values);
  assert.equal(last.url.href, `${service.url}/console/`);
  return browser;
}

async function get(browser: TestBrowser, path: string, init: RequestInit = {}): Promise<Answer> {
  const { status, html } = await browser.go(`${service.url}/console/${path}`, init);
  answers.push(html);
  return { status, body: JSON.parse(html) as Body };
}

async function idsOf(browser: TestBrowser, collection: string): Promise<readonly string[]> {
  const { status, body } = await get(browser, `api/rows/${collection}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.rows.map(({ id }) => id).toSorted();
}

interface Stream {
  readonly events: { readonly name: string; readonly data: Body }[];
  isOver: boolean;
}

function open(browser: TestBrowser): Stream {
  const jar = browser.cookies.get(new URL(service.url).host) ?? new Map<string, string>();
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  const stream: Stream = { events: [], isOver: false };
  const abort = new AbortController();
  stack.defer(() => abort.abort());
  void (async () => {
    const { signal } = abort;
    const response = await fetch(`${service.url}/console/api/changes`, { headers: { cookie }, signal });
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk as Uint8Array);
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) {
        answers.push(part);
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? [];
        if (name !== undefined) stream.events.push({ name, data: JSON.parse(data ?? "") as Body });
      }
    }
  })()
    .catch(() => undefined)
    .finally(() => (stream.isOver = true));
  return stream;
}

const mine = `databases.example.org/${spaces.get("mine")}`;

test("an operator sees all by RBAC, and a member their own tenant", async () => {
  const [all, member] = [await logIn("operator"), await logIn("developer")];
  await waitFor("the rows", async () => (await idsOf(all, "instances")).length === 3);
  assert.deepEqual(await idsOf(all, "clusters"), ["mine", "theirs"]);
  assert.deepEqual(await idsOf(member, "clusters"), ["mine"]);
  assert.deepEqual(await idsOf(member, "instances"), [`${mine}/huge`, `${mine}/well`]);
  const viewer: Viewer = (await get(member, "api/viewer")).body;
  assert.equal(viewer.seesAll, false);
  assert.deepEqual(viewer.tenants, ["mine"]);
  assert.deepEqual((await get(member, "api/rows/offers")).body.rows[0]?.boundBy, ["mine"]);
  assert.deepEqual((await get(all, "api/rows/offers")).body.rows[0]?.boundBy, ["mine", "theirs"]);
});

test("a stranger gets 403 in words, and a browser without a session 401", async () => {
  const stranger = await logIn("mallory");
  for (const path of ["api/viewer", "api/rows/clusters", "api/changes"]) {
    const { status, body } = await get(stranger, path);
    assert.equal(status, 403, path);
    assert.match(body.error, /member of no app cluster/);
  }
  assert.equal((await get(new TestBrowser(), "api/viewer")).status, 401);
  assert.equal((await get(stranger, "api/rows/audit")).status, 403);
});

test("another tenant's claim by its guessed name is not there, and a huge status comes out bounded and as text", async () => {
  const member = await logIn("developer");
  const claim = (tenant: string, name: string): string =>
    `api/explain?api=databases.example.org&tenant=${tenant}&namespace=team&name=${name}`;
  assert.equal((await get(member, claim("theirs", "secret-plan"))).status, 404);
  assert.equal(
    (await get(member, "api/explain?api=databases.example.org&namespace=team&name=secret-plan")).status,
    404,
  );
  const { status, body } = await get(member, claim("mine", "huge"));
  assert.equal(status, 200, JSON.stringify(body).slice(0, 300));
  assert.equal(body.state, "waiting");
  assert.ok(JSON.stringify(body).length < 20_000);
  const huge = (await get(member, "api/rows/instances")).body.rows.find((row) => row.name === "huge");
  assert.ok(JSON.stringify(huge).length < 2_000);
  assert.equal(huge?.health, "problem");
  assert.ok(!/[\p{Cc}\p{Cf}]/u.test(huge.problem));
  const [problem] = (await get(member, "api/rows/problems")).body.rows;
  assert.equal(problem?.about.id, `${mine}/huge`);
  assert.equal(problem?.who, "broker");
});

test("audit shows what the backend says of a Tenant, to those who may list Events or are members, and nothing that another writer says", async () => {
  const uidOf = async (namespace: string): Promise<string | undefined> =>
    (await client.find(tenants, { namespace, name: tenantName }))?.metadata.uid;
  const tell = async (namespace: string, reason: string, component = "klutch-backend"): Promise<void> => {
    const about = { apiVersion: "klutch.anynines.com/v1alpha1", kind: "Tenant", namespace, name: tenantName };
    await client.create<DynamicObject>(events, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace, generateName: "tenant." },
      involvedObject: { ...about, uid: await uidOf(namespace) },
      type: "Normal",
      reason,
      message: markup + "y".repeat(900),
      source: { component },
    });
  };
  for (const name of ["mine", "theirs"]) await waitFor("the Tenant", () => uidOf(name));
  await tell("mine", "ToldByKonnector", "konnector");
  await tell("mine", "Told");
  await tell("theirs", "ToldElsewhere");
  const [all, member] = [await logIn("operator"), await logIn("developer")];
  const reasons = async (browser: TestBrowser): Promise<readonly string[]> => {
    const { body } = await get(browser, "api/rows/audit");
    assert.ok(JSON.stringify(body).length < 20_000);
    assert.ok(!/[\p{Cc}\p{Cf}]/u.test(JSON.stringify(body)));
    const found = body.rows.map(({ reason }) => reason);
    return ["ToldByKonnector", "Told", "ToldElsewhere"].filter((reason) => found.includes(reason));
  };
  await waitFor("the Events", async () => (await reasons(all)).join() === "Told,ToldElsewhere");
  assert.deepEqual(await reasons(member), ["Told"]);
  // In control-plane mode a konnector may write Events there.
  const marked = (value: string | null): object => ({
    metadata: { annotations: { [appClusterBindingAnnotation]: value } },
  });
  await client.mergePatch(namespaces, { name: "theirs" }, marked("x"));
  await waitFor("the Events to count no more", async () => (await reasons(all)).join() === "Told");
  await client.mergePatch(namespaces, { name: "theirs" }, marked(null));
});

offerPriceTests({ client, logIn, get, idsOf });

test("cost shows this month's bill of all to those who may list ledgers, and a member their own", async () => {
  const [all, member] = [await logIn("operator"), await logIn("developer")];
  await waitFor("the bill", async () => (await idsOf(all, "cost")).length === 2);
  const { rows } = (await get(member, "api/rows/cost")).body;
  const words = { tenant: "mine", service: "pg", plan: "small", month };
  const cost = { amount: "5.00", currency: "EUR" };
  assert.deepEqual(
    rows.map((row) => ({ ...row, id: "" })),
    [{ id: "", ...words, hours: 10, cost }],
  );
  const instances = (await get(member, "api/rows/instances")).body.rows;
  const prices = new Map(instances.map(({ name, perMonth }) => [name, perMonth]));
  assert.deepEqual(prices.get("well"), { amount: "365.00", currency: "EUR" });
  assert.equal(prices.get("huge"), undefined);
  assert.equal((await get(await logIn("mallory"), "api/rows/cost")).status, 403);
});

test("the bill waits for the backend's rules of cost, which are enough for it and open no other ConfigMap", async () => {
  const account = { namespace: "crossplane-system", name: "console" };
  await using narrow = await boundAccount(cluster, account);
  const { sources, prices, usage } = watchCost(narrow, { list: () => [] }, silentLogger);
  const caches = [...prices, ...usage];
  const abort = new AbortController();
  const running = watching("bill", caches).start({ signal: abort.signal });
  await waitFor("a refusal", () => caches.every((cache) => cache.status().lastError !== undefined));
  assert.ok(!sources.areListed());
  await client.create(clusterRoles, roleObject({ name: "console" }, costRules));
  await waitFor("the objects of the bill", () => sources.areListed());
  assert.equal([...sources.prices.list()].length, 1);
  assert.equal([...sources.ledgers.list()].length, 3);
  await assert.rejects(narrow.list(configMaps, { namespace: account.namespace }), /forbidden/);
  abort.abort();
  await running;
});

test("the page has a strict policy with its own nonce, and no path leads out of the folder", async () => {
  const page = await fetch(`${service.url}/console/`);
  const policy = page.headers.get("content-security-policy") ?? "";
  const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? "none";
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self' 'nonce-/);
  assert.ok((await page.text()).includes(`nonce="${nonce}"`));
  const script = await fetch(`${service.url}/console/assets/index-1a2b.js`);
  assert.match(script.headers.get("cache-control") ?? "", /immutable/);
  for (const path of ["assets/..%2f..%2f..%2fetc%2fpasswd.txt", "assets/none.js", "%2e%2e/index.html"]) {
    const { status } = await fetch(`${service.url}/console/${path}`);
    assert.equal(status, 404, path);
  }
});

actionTests({ client, operator, get, logIn, idsOf, base: () => service.url });

test("a change arrives at those who may see it, and rows go when a member is removed or a right is taken", async () => {
  const [all, member] = [await logIn("operator"), await logIn("developer")];
  const [wide, narrow] = [open(all), open(member)];
  await waitFor("both streams", () => [wide, narrow].every(({ events }) => events[0]?.name === "viewer"));
  await createClaim("theirs", "later");
  const shows = ({ events }: Stream, name: string): boolean =>
    events.some((event) => event.data.upserts?.some((row) => row.name === name));
  await waitFor("the claim at the operator", () => shows(wide, "later"));
  await createClaim("mine", "last");
  await waitFor("the claim at the member", () => shows(narrow, "last"));
  assert.ok(!shows(narrow, "later"));
  await client.delete(clusterRoleBindings, { name: "sees-2" });
  await client.mergePatch(
    namespaces,
    { name: "mine" },
    {
      metadata: { annotations: { [identityAnnotation]: "#abc1" } },
    },
  );
  const isGone = ({ events }: Stream): boolean =>
    events.some(({ data }) => data.removed?.includes(`${mine}/well`));
  await waitFor("the member's rows to go", () => isGone(narrow), { timeoutMs: 15_000 });
  await waitFor("the operator's rows to go", () => isGone(wide), { timeoutMs: 20_000 });
  await waitFor(
    "the end for one who may see nothing",
    () => narrow.isOver && narrow.events.at(-1)?.name === "end",
  );
});

test("a logout of another site is refused; one of the console ends the session at each replica, and open pages", async () => {
  const browser = await logIn("operator");
  const stream = open(browser);
  await waitFor("the stream", () => stream.events.length > 0);
  const foreign = { method: "POST", headers: { "sec-fetch-site": "cross-site" } };
  assert.equal((await get(browser, "logout", foreign)).status, 403);
  assert.equal((await get(browser, "logout", { method: "POST" })).status, 403);
  assert.equal((await get(browser, "api/viewer")).status, 200);
  service.route(second.url);
  const thief = new TestBrowser();
  for (const [host, jar] of browser.cookies) thief.cookies.set(host, new Map(jar));
  assert.equal((await get(thief, "api/viewer")).status, 200);
  const own = { method: "POST", headers: { "sec-fetch-site": "same-origin" } };
  assert.equal((await get(browser, "logout", own)).status, 200);
  assert.equal((await get(thief, "api/viewer")).status, 401);
  await waitFor("the end", () => stream.isOver && stream.events.at(-1)?.name === "end", {
    timeoutMs: 15_000,
  });
});

test("no answer holds a Secret, a token or a kubeconfig, nor another tenant's plan at a member", () => {
  assert.ok(answers.length > 20);
  for (const text of answers)
    assert.doesNotMatch(text, new RegExp(`${canary}|eyJ[\\w-]{20}|client-certificate|kubeconfig:`));
});
