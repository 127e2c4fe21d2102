/** The way in for programs as the CLI of a9s uses it: a certified identity provider, two replicas of the backend, a real API server. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExportTemplates,
  type BindingResponse,
  ciClientAnnotation,
  type ClusterBinding,
  clusterBindings,
  type Grant,
  grants,
  identityAnnotation,
  newClusterKey,
  publicKeyOf,
  renewalKeyAnnotation,
} from "@klutch/api";
import { createKubeClient, parseForeignKubeconfig } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { allowPeople, crdObject, ruleOn, waitFor } from "@klutch/kube-testing";
import { TestBrowser } from "../testing/browser.ts";
import { accessTokenOf } from "../testing/programs.ts";
import { databases, templateObject } from "../testing/provider.ts";
import { prepareReplicas } from "../testing/replicas.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, issuer, service, start } = await prepareReplicas(stack, "programs");
const { client } = cluster;
const kinds: readonly ResourceType[] = [
  { ...databases, plural: "queues", kind: "Queue" },
  { ...databases, plural: "caches", kind: "Cache" },
];
for (const kind of kinds) {
  await client.create<KubeObject>(customResourceDefinitions, crdObject(kind));
  await client.create(apiServiceExportTemplates, templateObject(kind.group, kind.plural));
}
await allowPeople(
  client,
  "ci",
  ruleOn(apiServiceExportTemplates, ["bind"], ["databases", "queues"]),
  ["client:tenant-a", "client:tenant-b", "tenant-a"].map((name) => ["User", `oidc:${name}`]),
);
const flags = ["--bind-authorization=rbac", "--ci-clients=tenant-a", "--ci-clients=tenant-b"];
const replicas = [await start("one", ...flags), await start("two", ...flags)];
const [first = { url: "" }] = replicas;
service.route(first.url);
const tokens: string[] = [];

const api = (resource: string): { readonly group: string; readonly resource: string } => ({
  group: "example.org",
  resource,
});

/** One request of the CLI, with a token as it gets it. */
async function post(
  program: "tenant-a" | "tenant-b" | "tenant-c",
  body: object,
  { url = first.url, scope = "klutch/bind" }: { readonly url?: string; readonly scope?: string } = {},
): Promise<{ readonly status: number; readonly text: string; readonly response: BindingResponse }> {
  const token = await accessTokenOf(issuer, program, scope);
  tokens.push(token);
  const answer = await fetch(`${url}/bind-noninteractive`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, text, response: JSON.parse(text) as BindingResponse };
}

function kubeconfigOf({ kubeconfig }: BindingResponse): ReturnType<typeof parseForeignKubeconfig> {
  return parseForeignKubeconfig(Buffer.from(kubeconfig, "base64").toString());
}

async function bind(
  program: "tenant-a" | "tenant-b",
  clusterID: string,
  ...resources: readonly string[]
): Promise<{ readonly namespace: string; readonly response: BindingResponse }> {
  const { status, text, response } = await post(program, { clusterID, apis: resources.map(api) });
  assert.equal(status, 200, text);
  return { namespace: kubeconfigOf(response).namespace ?? "", response };
}

const tenants = async (): Promise<readonly KubeObject[]> =>
  (await client.list<KubeObject>(namespaces)).items.filter(
    ({ metadata }) => metadata.annotations?.[identityAnnotation] !== undefined,
  );

test("the returned credentials create the returned requests at once, as they are and by generateName, and both are served", async () => {
  const { namespace, response } = await bind("tenant-a", "eu-1", "queues", "databases");
  assert.deepEqual(
    response.requests.map(({ metadata }) => metadata.name),
    ["queues.example.org", "databases.example.org"],
  );
  await using program = createKubeClient(kubeconfigOf(response));
  const served = async (name: string): Promise<boolean> => {
    const found = await client.get<APIServiceExportRequest>(apiServiceExportRequests, { namespace, name });
    return found.status?.phase === "Succeeded";
  };
  for (const { metadata, ...request } of response.requests) {
    const names = [{ name: metadata.name }, { generateName: metadata.name }];
    for (const name of names) {
      const wanted = { ...request, metadata: { namespace, ...name } } as DynamicObject;
      const made = await program.create<DynamicObject>(apiServiceExportRequests, wanted);
      await waitFor(`the export of ${made.metadata.name}`, () => served(made.metadata.name ?? ""));
    }
  }
  const records = (await client.list<Grant>(grants, { namespace })).items.map(({ spec }) => spec);
  assert.deepEqual(new Set(records.map((spec) => spec.identity.user)), new Set(["oidc:client:tenant-a"]));
  assert.deepEqual(new Set(records.map((spec) => spec.api.resource)), new Set(["databases", "queues"]));
  const { metadata } = await client.get<ClusterBinding>(clusterBindings, { namespace, name: "cluster" });
  const { annotations = {} } = metadata;
  assert.deepEqual(
    ["cluster-name", "bound-by", "login"].map((name) => annotations[`klutch.anynines.com/${name}`]),
    ["eu-1", "client:tenant-a", "ci"],
  );
});

test("its konnector can come back without a program: the key that it offers is registered", async () => {
  const { namespace, response } = await bind("tenant-a", "eu-1", "databases");
  await using program = createKubeClient(kubeconfigOf(response));
  const renewalKey = publicKeyOf(newClusterKey());
  const status = { renewalKey };
  await program.mergePatch(
    clusterBindings,
    { namespace, name: "cluster" },
    { status },
    { subresource: "status" },
  );
  await waitFor("the key", async () => {
    const { metadata } = await client.get<KubeObject>(namespaces, { name: namespace });
    return metadata.annotations?.[renewalKeyAnnotation] === renewalKey;
  });
});

test("the same request five times at once, at two replicas, makes one tenant, and each answer leads to it", async () => {
  const before = (await tenants()).length;
  const body = { clusterID: "at-once", apis: [api("databases")] };
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, index) => post("tenant-a", body, { url: replicas[index % 2]?.url ?? "" })),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array.from({ length: 5 }, () => 200),
    answers.map(({ text }) => text).join("\n"),
  );
  assert.equal(new Set(answers.map(({ response }) => kubeconfigOf(response).namespace)).size, 1);
  assert.equal((await tenants()).length, before + 1);
});

test("two programs and a person with one cluster id get three tenants, also if the person is named as a program", async () => {
  const one = await bind("tenant-a", "shared", "databases");
  const other = await bind("tenant-b", "shared", "databases");
  const browser = new TestBrowser();
  const form = await browser.go(`${service.url}/authorize?s=session1&c=shared&p=4321`);
  const page = await browser.submit(form, 'name="password"', { login: "tenant-a", password: "x" });
  const answer = await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
  assert.equal(answer.status, 303, answer.html);
  const shared = (await tenants()).filter(({ metadata }) =>
    metadata.annotations?.[identityAnnotation]?.endsWith("#shared"),
  );
  const owners = shared.map(({ metadata }) => metadata.annotations?.[ciClientAnnotation] ?? "a person");
  assert.deepEqual(owners.toSorted(), ["a person", "tenant-a", "tenant-b"]);
  assert.notEqual(one.namespace, other.namespace);
  assert.equal((await bind("tenant-a", "shared", "queues")).namespace, one.namespace);
});

test("a person whom the identity provider names as a program is refused, because they would have its rights", async () => {
  const browser = new TestBrowser();
  const form = await browser.go(`${service.url}/authorize?s=session1&c=abc&p=4321`);
  const page = await browser.submit(form, 'name="password"', { login: "client:tenant-a", password: "x" });
  assert.equal(page.status, 401);
  assert.match(page.html, /begins with client:, which belongs to programs/);
});

test("one API without the right, or one that is not offered, refuses the whole request and makes nothing", async () => {
  const before = (await tenants()).length;
  const clusterID = "refused";
  const denied = await post("tenant-a", { clusterID, apis: [api("databases"), api("caches")] });
  assert.equal(denied.status, 403);
  assert.match(denied.text, /oidc:client:tenant-a may not bind caches\.example\.org/);
  assert.match(denied.text, /verb bind on the APIServiceExportTemplate caches in namespace default/);
  const unknown = await post("tenant-a", { clusterID, apis: [api("databases"), api("fridges")] });
  assert.equal(unknown.status, 404);
  assert.match(unknown.text, /fridges\.example\.org is not offered here/);
  assert.equal((await tenants()).length, before);
});

test("a client that is not named, and a token for something else, are refused with 401", async () => {
  const body = { clusterID: "refused", apis: [api("databases")] };
  const unnamed = await post("tenant-c", body);
  assert.deepEqual(
    [unnamed.status, unnamed.text.includes("not among the clients of --ci-clients")],
    [401, true],
  );
  const other = await post("tenant-a", body, { scope: "shop/read" });
  assert.deepEqual([other.status, other.text.includes("without klutch/bind")], [401, true]);
});

test("a body of 10 MB is refused with 413 and words, which reach the caller", async () => {
  const { status, text } = await post("tenant-a", { clusterID: "x".repeat(10_000_000), apis: [] });
  assert.equal(status, 413);
  assert.match(text, /The body is larger than 64 KiB/);
});

test("a program that an operator revoked gets nothing more, and its tenant's words say whom to ask", async () => {
  const { namespace } = await bind("tenant-b", "shared", "databases");
  const annotations = { [renewalKeyAnnotation]: "revoked" };
  await client.mergePatch(namespaces, { name: namespace }, { metadata: { annotations } });
  for (const clusterID of ["shared", "another"]) {
    const refusal = await waitFor("the refusal", async () => {
      const answer = await post("tenant-b", { clusterID, apis: [api("databases")] });
      return answer.status === 403 ? answer.text : undefined;
    });
    assert.match(refusal, new RegExp(`The platform operator revoked .*\\(tenant ${namespace}\\)`));
  }
});

test("neither the logs of the replicas nor their metrics hold a token, and logins of programs are counted", async () => {
  const logs = await Promise.all(
    ["one", "two"].map((name) => readFile(join(cluster.dataDir, `${name}.log`), "utf8")),
  );
  assert.match(logs.join(""), /a program bound APIs/);
  const metrics = await (await fetch(`${(replicas[0] as { probeUrl: string }).probeUrl}/metrics`)).text();
  assert.match(metrics, /^klutch_logins_total\{way="ci"\} [1-9]/m);
  assert.ok(tokens.length > 10);
  for (const token of tokens)
    for (const text of [...logs, metrics])
      for (const part of [token, token.split(".")[2] ?? ""]) assert.ok(!text.includes(part));
});
