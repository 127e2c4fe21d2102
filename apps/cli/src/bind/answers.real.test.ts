/** Tests what the answers to a provider's permission claims achieve: the real backend runs, and the provider's API server decides access. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceBindings,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceExportTemplates,
  type APIServiceNamespace,
  apiServiceNamespaces,
  binderName,
  binderRules,
  clusterBindings,
  consumerNamespace,
  type PermissionClaim,
  rejectedClaimsAnnotation,
} from "@klutch/api";
import { clusterRoles, customResourceDefinitions, type DynamicObject, roleBindings } from "@klutch/kube-core";
import { formatYaml } from "@klutch/kube";
import { crdObject, isAllowed, roleObject, startBackendProcess, waitFor } from "@klutch/kube-testing";
import { runCli } from "../program.ts";
import { createTenant, prepareConsumer, prepareProvider, requestFor } from "../testing/provider-side.ts";
import { refuseBinding } from "../testing/refuse-binding.ts";
import { scriptedRun } from "../testing/script.ts";
import { startTwoClusters } from "../testing/two-clusters.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { consumer, provider, path, write } = stack.use(await startTwoClusters());
const { client } = provider;

const group = "test.klutch.dev";
const name = `widgets.${group}`;
const tenant = "cluster-a";
const claimed: readonly PermissionClaim[] = ["secrets", "configmaps"].map((resource) => ({
  group: "",
  resource,
  version: "v1",
  selector: { owner: "Provider" },
}));

await prepareProvider(provider);
await prepareConsumer(consumer);
await client.create<DynamicObject>(
  customResourceDefinitions,
  crdObject({ group, version: "v1", plural: "widgets", kind: "Widget", namespaced: true }),
);
await client.create(clusterRoles, roleObject({ name: binderName }, binderRules));
await waitFor("templates to be served", () =>
  client.create<DynamicObject>(apiServiceExportTemplates, {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: "widgets" },
    spec: { APIServiceSelector: { group, resource: "widgets" }, permissionClaims: claimed },
  }),
);
await write("remote", await createTenant(provider, tenant));
await write("config", consumer.kubeconfig);
await client.create<DynamicObject>(clusterBindings, {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "ClusterBinding",
  metadata: { namespace: tenant, name: "cluster" },
  spec: { kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" }, providerPrettyName: "Tests" },
});
// The backend has its own.
await client.delete(roleBindings, { namespace: tenant, name: binderName });
stack.use(await startBackendProcess(provider, { flags: ["--lease-namespace=default"] }));
await client.create<DynamicObject>(apiServiceNamespaces, {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceNamespace",
  metadata: { namespace: tenant, name: "team" },
  spec: {},
});
const service = await waitFor("the service namespace", async () => {
  const ref = { namespace: tenant, name: "team" };
  return (await client.get<APIServiceNamespace>(apiServiceNamespaces, ref)).status?.namespace;
});

type Ended = Promise<{ readonly code: number; readonly said: string }>;

const bind = (answers: readonly string[], ...more: readonly string[]): Ended =>
  bindUntil(undefined, answers, ...more);

async function bindUntil(
  signal: AbortSignal | undefined,
  answers: readonly string[],
  ...more: readonly string[]
): Ended {
  const request = { ...requestFor("widgets"), spec: { resources: [{ group, resource: "widgets" }] } };
  const run = scriptedRun({
    env: { KUBECONFIG: path("config") },
    answers,
    stdin: formatYaml(request),
    signal,
  });
  const remote = ["--remote-kubeconfig", path("remote"), "-f", "-"];
  const flags = ["--timeout=20s", "--konnector-image=example.test/konnector:v1", ...more];
  const code = await runCli("kubectl-bind", [...flags, "apiservice", ...remote], run.context);
  return { code, said: run.stderr() };
}

/** Asks whether the tenant's account may read objects of the resource in its service namespace. */
const mayGet = (resource: string, apiGroup = ""): Promise<boolean> => {
  const user = `system:serviceaccount:${tenant}:${binderName}`;
  return isAllowed(client, user, { verb: "get", group: apiGroup, resource }, service);
};
const rejected = async (): Promise<string | undefined> => {
  const { metadata } = await client.get(apiServiceExports, { namespace: tenant, name });
  return metadata.annotations?.[rejectedClaimsAnnotation];
};
const unbind = (): Promise<boolean> =>
  consumer.client.delete(apiServiceBindings, { namespace: consumerNamespace, name });

test("until a person has answered, no claim gives a right, and a command that ends before leaves none", async () => {
  const { code, said } = await bind(["yes"]);
  assert.equal(code, 1, said);
  await waitFor("the rights of the kind", () => mayGet("widgets", group));
  assert.equal(await rejected(), "configmaps,secrets");
  assert.deepEqual([await mayGet("secrets"), await mayGet("configmaps")], [false, false]);
});

test("a command that fails after the answers were sent keeps the rights of existing bindings", async () => {
  await using _refusal = await refuseBinding(consumer, name);
  const { code, said } = await bind(["yes", "yes"]);
  assert.equal(code, 1, said);
  assert.match(said, /not here/);
  assert.equal(await rejected(), "configmaps,secrets", said);
  await waitFor("the rights to go", async () => !(await mayGet("secrets")) && !(await mayGet("configmaps")));
});

test("a command that is interrupted after the answers were sent keeps the rights of existing bindings", async () => {
  const interrupt = new AbortController();
  const ended = bindUntil(interrupt.signal, ["yes", "yes"]);
  await waitFor("the answers", async () => (await rejected()) === undefined, { intervalMs: 5 });
  interrupt.abort(new Error("Ctrl-C"));
  const { code, said } = await ended;
  assert.equal(code, 1, said);
  assert.equal(await rejected(), "configmaps,secrets", said);
});

test("a claim that the person rejects gives the app cluster's account no right, and an accepted one does", async () => {
  const { code, said } = await bind(["yes", "no"]);
  assert.equal(code, 0, said);
  assert.equal(await rejected(), "configmaps");
  await waitFor("the right on secrets", () => mayGet("secrets"));
  assert.equal(await mayGet("configmaps"), false);
});

test("binding an API again neither asks nor changes a right", async () => {
  const { metadata } = await client.get(apiServiceExports, { namespace: tenant, name });
  const { code, said } = await bind([]);
  assert.equal(code, 0, said);
  const later = await client.get(apiServiceExports, { namespace: tenant, name });
  assert.equal(later.metadata.resourceVersion, metadata.resourceVersion);
  assert.deepEqual([await mayGet("secrets"), await mayGet("configmaps")], [true, false]);
});

test("binding again with other answers changes the rights", async () => {
  await unbind();
  assert.equal((await bind(["no", "yes"])).code, 0);
  assert.equal(await rejected(), "secrets");
  await waitFor("the right to go", async () => !(await mayGet("secrets")));
  await waitFor("the right on configmaps", () => mayGet("configmaps"));
  await unbind();
  const { code, said } = await bind([], "--accept-permissions");
  assert.equal(code, 0, said);
  assert.equal(await rejected(), undefined);
  await waitFor("all rights", async () => (await mayGet("secrets")) && (await mayGet("configmaps")));
});

test("one request with the accepted claims is left for each bind; those of commands that failed are gone", async () => {
  const { items } = await client.list<APIServiceExportRequest>(apiServiceExportRequests, {
    namespace: tenant,
  });
  const said = items
    .map(({ spec }) => spec.resources.flatMap(({ permissionClaims = [] }) => permissionClaims))
    .map((claims) => claims.map(({ resource }) => resource).join());
  assert.deepEqual(said.toSorted(), ["configmaps", "secrets", "secrets", "secrets,configmaps"]);
});
