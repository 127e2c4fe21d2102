/** Tests who may bind what: people and groups of an identity provider, RBAC of a real API server, and the backend between them as a process. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceExportRequests,
  type APIServiceExportRequest,
  apiServiceExports,
  apiServiceExportTemplates,
  type ClusterBinding,
  clusterBindings,
  type Grant,
  grants,
} from "@klutch/api";
import {
  clusterRoleBindings,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  type ResourceType,
} from "@klutch/kube-core";
import {
  allowPeople,
  crdObject,
  isAllowed,
  ruleOn,
  startKubectl,
  type Subject,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { TestBrowser } from "../testing/browser.ts";
import { databases, templateObject } from "../testing/provider.ts";
import { prepareReplicas, switchTo } from "../testing/replicas.ts";
import { exportRequest } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, service, start } = await prepareReplicas(stack, "access");
const { client } = cluster;
const queues: ResourceType = { ...databases, plural: "queues", kind: "Queue" };
await client.create<KubeObject>(customResourceDefinitions, crdObject(queues));
await client.create(apiServiceExportTemplates, templateObject(queues.group, queues.plural));
const backend = await start("backend", "--bind-authorization=rbac", "--oidc-extra-scope=groups");
service.route(backend.url);

/** Gives people and groups the right on some templates, or on all. */
const allow = (name: string, templates: readonly string[], subjects: readonly Subject[]): Promise<void> =>
  allowPeople(client, name, ruleOn(apiServiceExportTemplates, ["bind"], templates), subjects);
await allow(
  "bind-databases",
  ["databases"],
  [
    ["Group", "oidc:team-a"],
    ["User", "oidc:cleo"],
  ],
);
await allow("bind-all", [], [["Group", "oidc:admins"]]);

const people = { ann: "ann+team-a", bob: "bob+team-b", cleo: "cleo", dora: "dora+team-b+admins" };

/** Logs in and returns the browser with the page. */
async function logIn(
  person: string,
): Promise<{ readonly browser: TestBrowser; readonly page: Awaited<ReturnType<TestBrowser["go"]>> }> {
  const browser = new TestBrowser();
  const cluster = person.replaceAll("+", "-").slice(0, 20);
  const form = await browser.go(`${service.url}/authorize?s=session1&c=${cluster}&p=4321`);
  const page = await browser.submit(form, 'name="password"', { login: person, password: "x" });
  return { browser, page };
}
const shown = (html: string): string =>
  ["databases", "queues", "caches"].filter((resource) => html.includes(`value="${resource}"`)).join();

test("each person sees the APIs that RBAC gives them, and kubectl says the same", async () => {
  const kubectl = await startKubectl(stack, cluster);
  const seen: Record<string, string> = {};
  for (const person of Object.values(people)) {
    const { page } = await logIn(person);
    seen[person] = shown(page.html);
    const [, ...groups] = person.split("+");
    const as = [`--as=oidc:${person}`, ...groups.map((group) => `--as-group=oidc:${group}`)];
    const can: string[] = [];
    for (const template of ["databases", "queues"]) {
      const args = [
        "auth",
        "can-i",
        "bind",
        `apiserviceexporttemplates/${template}`,
        "--namespace=default",
        ...as,
      ];
      const answer = await kubectl(...args).catch((error: { stdout?: string }) => error.stdout ?? "");
      if (answer.trim() === "yes") can.push(template);
    }
    assert.equal(seen[person], can.join(), person);
  }
  assert.deepEqual(seen, {
    "ann+team-a": "databases",
    "bob+team-b": "",
    cleo: "databases",
    "dora+team-b+admins": "databases,queues",
  });
});

test("a person without rights reads by which names an operator gives them, and a form of their own does not help", async () => {
  const { page } = await logIn(people.bob);
  assert.match(page.html, /There is no API that you may bind here/);
  assert.match(page.html, /<code>oidc:bob\+team-b<\/code> and in <code>oidc:team-b<\/code>/);
  const { page: allowed, browser: other } = await logIn(people.ann);
  const forged = allowed.html.replaceAll('value="databases"', 'value="queues"');
  const refused = await other.submit(
    { ...allowed, html: forged },
    'value="queues"',
    {},
    "http://localhost:4321",
  );
  assert.equal(refused.status, 403);
  assert.match(refused.html, /oidc:ann\+team-a may not bind queues\.example\.org/);
  assert.match(refused.html, /verb bind on the APIServiceExportTemplate queues in namespace default/);
  assert.deepEqual((await client.list(grants)).items, []);
});

/** Binds an API; returns the namespace of the person's app cluster. */
async function bind(person: string, resource: string): Promise<string> {
  const { browser, page } = await logIn(person);
  const answer = await browser.submit(page, `value="${resource}"`, {}, "http://localhost:4321");
  assert.deepEqual([answer.status, answer.url.searchParams.has("response")], [303, true], answer.html);
  const made = (await client.list<Grant>(grants)).items.find(
    ({ spec }) => spec.identity.user === `oidc:${person}`,
  );
  return made?.metadata.namespace ?? "";
}
const phaseOf = async (namespace: string, name: string): Promise<string> => {
  const { status } = await client.get<APIServiceExportRequest>(apiServiceExportRequests, { namespace, name });
  return `${status?.phase ?? ""} ${status?.conditions?.find(({ type }) => type === "ExportsReady")?.reason ?? ""}`.trim();
};

test("a bind is recorded, and an app cluster's own request gets nothing that no one bound", async () => {
  const namespace = await bind(people.ann, "databases");
  const [grant] = (await client.list<Grant>(grants, { namespace })).items;
  assert.deepEqual(grant?.spec.identity.groups, ["oidc:team-a"]);
  assert.deepEqual(grant?.spec.template, { namespace: "default", name: "databases" });
  await using tenant = unlimitedClient(cluster, { namespace, name: "klutch-binder" });
  for (const resource of ["databases", "queues"])
    await tenant.create(apiServiceExportRequests, exportRequest({ namespace, name: resource }, resource));
  await waitFor("the export", async () => (await phaseOf(namespace, "databases")) === "Succeeded");
  await waitFor("the refusal", async () => (await phaseOf(namespace, "queues")) === "Pending NotAllowed");
  assert.equal(await client.find(apiServiceExports, { namespace, name: "queues.example.org" }), undefined);
  // Somebody with the right binds it for the same app cluster, as far as the control plane knows: the waiting request goes on.
  const spec = { ...grant.spec, api: { group: "example.org", resource: "queues" } };
  const lie = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "Grant",
    metadata: { namespace, name: "forged" },
    spec,
  };
  await client.create<DynamicObject>(grants, lie as DynamicObject);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal(
    await phaseOf(namespace, "queues"),
    "Pending NotAllowed",
    "a record gives no right that RBAC does not",
  );
  const identity = { ...grant.spec.identity, groups: ["oidc:admins"] };
  await client.mergePatch<DynamicObject>(grants, { namespace, name: "forged" }, { spec: { identity } });
  await waitFor("the export of queues", async () => (await phaseOf(namespace, "queues")) === "Succeeded");
});

test("an app cluster's account can neither write nor read records", async () => {
  const namespace = (await client.list<Grant>(grants)).items[0]?.metadata.namespace ?? "";
  const account = `system:serviceaccount:${namespace}:klutch-binder`;
  for (const verb of ["get", "list", "create", "update", "patch", "delete"])
    assert.ok(
      !(await isAllowed(
        client,
        account,
        { verb, group: "klutch.anynines.com", resource: "grants" },
        namespace,
      )),
      verb,
    );
});

test("a right that is withdrawn ends new binds within seconds, and nothing that is bound", async () => {
  await client.delete(clusterRoleBindings, { name: "bind-databases" });
  // The answers hold ten seconds for each person; the controllers ask about ann.
  for (const person of [people.cleo, people.ann])
    await waitFor("the page without the API", async () => shown((await logIn(person)).page.html) === "", {
      timeoutMs: 30_000,
    });
  assert.ok((await client.list(apiServiceExports)).items.length > 0);
});

test("an app cluster with an API that no one who bound it may bind now is named, and the API stays", async () => {
  const grant = (await client.list<Grant>(grants)).items.find(({ metadata }) => metadata.name !== "forged");
  const namespace = grant?.metadata.namespace ?? "";
  // Nor may the person of the other record; deleting it would revoke.
  const { identity } = grant?.spec ?? {};
  await client.mergePatch<DynamicObject>(grants, { namespace, name: "forged" }, { spec: { identity } });
  // The backend may look between the two changes, and names one API first.
  const words = /no one who has bound databases\.example\.org, queues\.example\.org here may bind it now/;
  await waitFor("the condition", async () => {
    const { status } = await client.get<ClusterBinding>(clusterBindings, { namespace, name: "cluster" });
    const found = status?.conditions?.find(({ type }) => type === "Authorized");
    return found?.reason === "RightsWithdrawn" && words.test(found.message ?? "");
  });
  assert.equal((await client.list(apiServiceExports)).items.length, 2);
  const metrics = await (await fetch(`${backend.probeUrl}/metrics`)).text();
  assert.match(metrics, /^klutch_unauthorized_exports 2$/m);
});

test("a person in five thousand groups logs in, and those that a role binding names count", async () => {
  const { page } = await logIn("eve+admins+5000");
  assert.equal(shown(page.html), "databases,queues");
});

test("a template that is renamed to one that people may bind opens nothing that no one has bound", async () => {
  const caches: ResourceType = { ...databases, plural: "caches", kind: "Cache" };
  await client.create<KubeObject>(customResourceDefinitions, crdObject(caches));
  const template = templateObject(caches.group, caches.plural);
  await client.create(apiServiceExportTemplates, template);
  await allow("bind-spare", ["spare"], [["Group", "oidc:team-a"]]);
  const namespace = (await client.list<Grant>(grants)).items[0]?.metadata.namespace ?? "";
  await using tenant = unlimitedClient(cluster, { namespace, name: "klutch-binder" });
  const ask = async (name: string): Promise<void> => {
    await tenant.create(apiServiceExportRequests, exportRequest({ namespace, name }, "caches"));
    await waitFor(
      `the refusal of ${name}`,
      async () => (await phaseOf(namespace, name)) === "Pending NotAllowed",
    );
  };
  await waitFor("the offer", async () => shown((await logIn(people.dora)).page.html).endsWith("caches"));
  await ask("before");
  await client.delete(apiServiceExportTemplates, { namespace: "default", name: "caches" });
  const metadata = { ...template.metadata, name: "spare" };
  await client.create(apiServiceExportTemplates, { ...template, metadata });
  // The right is one on a name, so that the page shows it now.
  await waitFor("the page", async () => shown((await logIn(people.ann)).page.html) === "caches");
  await ask("after");
  assert.equal(await phaseOf(namespace, "before"), "Pending NotAllowed");
  assert.equal(await client.find(apiServiceExports, { namespace, name: "caches.example.org" }), undefined);
  await bind(people.ann, "caches");
  await waitFor("the export", async () => (await phaseOf(namespace, "before")) === "Succeeded");
});

test("a groups claim that no token has gives no group, and the page says so", async () => {
  const lost = await start("lost", "--bind-authorization=rbac", "--oidc-groups-claim=realm_access.rolez");
  await switchTo(service, lost);
  const { page } = await logIn(people.ann);
  assert.equal(shown(page.html), "");
  assert.match(page.html, /knows you as <code>oidc:ann\+team-a<\/code>, and your login names no group\./);
  await switchTo(service, backend);
  assert.equal(shown((await logIn(people.ann)).page.html), "caches");
  await lost.stop();
});
