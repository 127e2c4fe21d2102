/** Tests the plugin's grants when the provider lies: a real app cluster and a scripted provider (testing/lying-provider.ts). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiLimit,
  type APIServiceBinding,
  apiServiceBindings,
  apiServiceExportRequests,
  bindingRoleName,
  type BindingResponse,
  consumerNamespace,
} from "@klutch/api";
import {
  apiServices,
  clusterRoleBindings,
  clusterRoles,
  type DynamicObject,
  isRecord,
  namespaces,
  type ResourceType,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { formatYaml, parseYamlDocuments } from "@klutch/kube";
import { namespaceObject, roleObject, waitFor } from "@klutch/kube-testing";
import { bindingOf } from "./consumer.ts";
import { startBackend } from "../testing/backend.ts";
import { answerWith, claimOn, type Lie, prepareLyingProvider } from "../testing/lying-provider.ts";
import { createTenant, prepareConsumer, requestFor } from "../testing/provider-side.ts";
import { refuseBinding } from "../testing/refuse-binding.ts";
import { type Finished, type Outside, startRun } from "../testing/run.ts";
import { startTwoClusters } from "../testing/two-clusters.ts";
import { objectLines, writtenByBind } from "../testing/written.ts";

const clusters = await startTwoClusters();
after(() => clusters[Symbol.asyncDispose]());
const { consumer, provider, path, write } = clusters;
const tenant = "cluster-a";
await prepareLyingProvider(provider);
await prepareConsumer(consumer);
await waitFor("the bindings", () => consumer.client.list(apiServiceBindings));
const tenantKubeconfig = await createTenant(provider, tenant);
await write("remote", tenantKubeconfig);
await write("config", consumer.kubeconfig);
await consumer.client.create(namespaces, namespaceObject(consumerNamespace));

async function kubectlBind(args: readonly string[], options: Outside = {}): Promise<Finished> {
  const outside = { env: { KUBECONFIG: path("config") }, ...options };
  return startRun("kubectl-bind", ["--timeout=20s", ...args], outside).done;
}

/** `bind apiservice` for an API of the group `test.klutch.dev`, or for a whole request. */
async function bindService(
  api: string | BindingResponse["requests"][number],
  options: Outside = {},
  ...more: string[]
): Promise<Finished> {
  const request = typeof api === "string" ? harmless(api) : api;
  const args = ["apiservice", "--remote-kubeconfig", path("remote"), "-f", "-", ...more];
  return kubectlBind(args, { stdin: formatYaml(request), ...options });
}

const harmless = (resource: string): BindingResponse["requests"][number] =>
  requestOf({ group: "test.klutch.dev", resource });

function requestOf(
  ...resources: readonly { group: string; resource: string }[]
): BindingResponse["requests"][number] {
  const [first] = resources;
  return {
    ...requestFor("x"),
    metadata: { name: `${first?.resource}.${first?.group}` },
    spec: { resources },
  };
}

const browser = (url: string): void => {
  void fetch(url);
};

/** Lists every object in the app cluster that a bind command could write. */
const state = (): Promise<string[]> => objectLines(consumer.client, writtenByBind);

const ruleTexts = async (name: string): Promise<string> =>
  JSON.stringify((await consumer.client.get<DynamicObject>(clusterRoles, { name }))["rules"]);

async function usingAnswer(lie: Lie, work: () => Promise<void>): Promise<void> {
  await using _provider = answerWith(provider, tenant, lie);
  await work();
}

const lies: readonly (readonly [string, Lie])[] = [
  ["pods", { group: "", plural: "pods" }],
  ["everything", { group: "*", plural: "*" }],
  ["cluster roles", { group: "rbac.authorization.k8s.io", plural: "clusterroles" }],
  ["Klutch's own kind", { group: "klutch.anynines.com", plural: "apiservicebindings" }],
  ["another API", { plural: "gadgets" }],
  ["names that are no texts", { plural: ["pods"], group: { a: 1 } }],
  ["no spec at all", { spec: "none" }],
];
for (const [what, lie] of lies) {
  test(`a provider that exports ${what} in place of the harmless API gets no right, and nothing stays`, async () => {
    const earlier = await state();
    await using _provider = answerWith(provider, tenant, lie);
    const run = await bindService("widgets", {}, "--accept-permissions", "--konnector-image=x.test/k:v1");
    assert.equal(run.code, 1, run.stderr());
    assert.deepEqual(await state(), earlier);
    assert.match(run.stderr(), /error: .*widgets\.test\.klutch\.dev.*Nothing was changed in this cluster\./);
    const { items } = await provider.client.list(apiServiceExportRequests, { namespace: tenant });
    assert.deepEqual(items, [], "the request is taken back");
  });
}

const builtIn: readonly (readonly [group: string, resource: string, reason: RegExp])[] = [
  ["", "pods", /built into Kubernetes/],
  ["apps", "deployments", /no dot|Kubernetes/],
  ["rbac.authorization.k8s.io", "clusterroles", /belongs to Kubernetes/],
  ["flowcontrol.apiserver.k8s.io", "flowschemas", /belongs to Kubernetes/],
  ["kubernetes.io", "things", /belongs to Kubernetes/],
  ["klutch.anynines.com", "apiservicebindings", /belongs to Klutch/],
  ["example-backend.klutch.anynines.com", "apiserviceexporttemplates", /belongs to Klutch/],
];
test("a backend that answers with built-in, Kubernetes-owned or Klutch's APIs is refused before anything is requested", async () => {
  const earlier = await state();
  for (const [group, resource, reason] of builtIn) {
    const request = requestOf({ group: "test.klutch.dev", resource: "widgets" }, { group, resource });
    await using backend = await startBackend(tenantKubeconfig, [request]);
    const run = await kubectlBind([backend.url, "--accept-permissions"], {
      browser,
      answers: ["yes", "yes"],
    });
    assert.equal(run.code, 1, `${resource}.${group}`);
    assert.match(run.stderr(), reason);
    const manifest = await bindService(request, {}, "--accept-permissions", "--dry-run");
    assert.equal(manifest.code, 1, `${resource}.${group}`);
    assert.match(manifest.stderr(), reason);
  }
  const { items } = await provider.client.list(apiServiceExportRequests, { namespace: tenant });
  assert.deepEqual(items, []);
  assert.deepEqual(await state(), earlier);
});

test("after the login the person is asked about the APIs that the backend says were chosen; a no leaves nothing", async () => {
  const earlier = await state();
  await using _provider = answerWith(provider, tenant, {});
  await using backend = await startBackend(tenantKubeconfig, [harmless("widgets"), harmless("gadgets")]);
  const run = await kubectlBind([backend.url], { answers: ["no"], browser });
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /Example says that you chose these 2 APIs:\n {2}widgets\.test\.klutch\.dev\n {2}gadgets\.test\.klutch\.dev\n/,
  );
  assert.match(
    run.stderr(),
    /error: widgets\.test\.klutch\.dev, gadgets\.test\.klutch\.dev were not accepted\. Nothing was changed/,
  );
  assert.deepEqual(await state(), earlier);
  const { items } = await provider.client.list(apiServiceExportRequests, { namespace: tenant });
  assert.deepEqual(items, []);
});

const dangerous = [
  claimOn("pods", ""),
  claimOn("serviceaccounts", ""),
  claimOn("nodes", ""),
  claimOn("namespaces", ""),
  claimOn("*", "*"),
  claimOn("secrets/status", ""),
  claimOn("clusterrolebindings", "rbac.authorization.k8s.io"),
  claimOn("mutatingwebhookconfigurations", "admissionregistration.k8s.io"),
  claimOn("customresourcedefinitions", "apiextensions.k8s.io"),
  claimOn("deployments", "apps"),
  claimOn("apiservicebindings", "klutch.anynines.com"),
  claimOn("certificates", "cert-manager.example"),
  claimOn("secrets", "", { selector: { owner: "Provider", namespaces: ["kube-system"] } }),
];
test("claims on pods, service accounts, RBAC, webhooks, foreign groups and wildcards are refused, whatever the answer", async () => {
  const shipped = claimOn("secrets", "", { selector: { owner: "Provider" } });
  await using _provider = answerWith(provider, tenant, { permissionClaims: [...dangerous, shipped] });
  const run = await bindService(
    "gizmos",
    { answers: dangerous.map(() => "yes") },
    "--accept-permissions",
    "--konnector-image=x.test/k:v1",
  );
  assert.equal(run.code, 0, run.stderr());
  for (const type of [validatingAdmissionPolicies, validatingAdmissionPolicyBindings])
    assert.ok(
      await consumer.client.find(type, { name: apiLimit.nameOf("gizmos.test.klutch.dev") }),
      type.kind,
    );
  const ref = { namespace: consumerNamespace, name: "gizmos.test.klutch.dev" };
  const binding = await consumer.client.get<APIServiceBinding>(apiServiceBindings, ref);
  assert.deepEqual(
    binding.spec.permissionClaims?.map(({ resource, state: answer }) => `${resource} ${answer}`),
    ["secrets Accepted"],
  );
  const rules = await ruleTexts(bindingRoleName(ref.name));
  assert.match(rules, /"gizmos"/);
  assert.match(rules, /"secrets"/);
  // Of definitions only that of the API itself, by its name.
  const ownCrd = `{"verbs":["update","patch"],"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions"],"resourceNames":["${ref.name}"]}`;
  assert.ok(rules.includes(ownCrd), rules);
  assert.doesNotMatch(
    rules.replace(ownCrd, ""),
    /pods|serviceaccounts|nodes|namespaces|role|webhook|definitions|deployments|\*/,
  );
  assert.equal(run.stderr().match(/Refused/g)?.length, dangerous.length);
});

test("a dry run shows no right that a real run would not give", async () => {
  const own = claimOn("secrets", "", { selector: { owner: "Consumer" } });
  const request = harmless("widgets");
  const [resource] = request.spec.resources;
  assert.ok(resource !== undefined);
  const resources = [{ ...resource, permissionClaims: [claimOn("pods", ""), own] }];
  const run = await bindService({ ...request, spec: { resources } }, {}, "--dry-run", "--accept-permissions");
  assert.equal(run.code, 0, run.stderr());
  const objects = parseYamlDocuments(run.stdout()).filter(isRecord);
  const role = objects.find(({ kind }) => kind === "ClusterRole");
  assert.doesNotMatch(JSON.stringify(role), /pods|secrets/);
  const binding = objects.find(({ kind }) => kind === "APIServiceBinding");
  assert.match(JSON.stringify(binding), /"resource":"secrets".*"state":"Rejected"/);
  assert.doesNotMatch(JSON.stringify(binding), /pods/);
});

test("a required claim that is refused ends the command, and nothing was changed", async () => {
  const earlier = await state();
  for (const claim of dangerous) {
    await using _provider = answerWith(provider, tenant, {
      permissionClaims: [{ ...claim, required: true }],
    });
    const run = await bindService("widgets", { answers: ["yes"] }, "--accept-permissions");
    assert.equal(run.code, 1, claim.resource);
    assert.match(run.stderr(), /cannot be bound.*Nothing was changed in this cluster/);
  }
  assert.deepEqual(await state(), earlier);
});

test("--accept-permissions does not hand over a cluster's own Secrets; a person can, and is told what that means", async () => {
  const own = claimOn("secrets", "", { selector: { owner: "Consumer" } });
  await usingAnswer({ permissionClaims: [own] }, async () => {
    const silent = await bindService("sprockets", {}, "--accept-permissions", "--skip-konnector");
    assert.equal(silent.code, 0, silent.stderr());
    assert.match(silent.stderr(), /--accept-permissions does not cover this claim/);
    assert.doesNotMatch(await ruleTexts(bindingRoleName("sprockets.test.klutch.dev")), /secrets/);
    const asked = await bindService("springs", { answers: ["yes"] }, "--accept-permissions");
    assert.equal(asked.code, 0, asked.stderr());
    assert.match(asked.stderr(), /Warning: .*every Secret.*\n/);
    assert.match(await ruleTexts(bindingRoleName("springs.test.klutch.dev")), /secrets/);
  });
  await using _required = answerWith(provider, tenant, { permissionClaims: [{ ...own, required: true }] });
  const earlier = await state();
  const required = await bindService("widgets", {}, "--accept-permissions");
  assert.equal(required.code, 1);
  assert.deepEqual(await state(), earlier);
});

test("a claim that is no claim is named, and nothing was changed", async () => {
  const earlier = await state();
  for (const permissionClaims of [
    [7],
    [{ resource: "secrets" }],
    Array.from({ length: 100 }, () => claimOn("configmaps", "")),
  ]) {
    await using _provider = answerWith(provider, tenant, { permissionClaims });
    const run = await bindService("widgets", {}, "--accept-permissions");
    assert.equal(run.code, 1);
    assert.match(run.stderr(), /permissionClaims.*Nothing was changed/);
  }
  assert.deepEqual(await state(), earlier);
});

test("an API group that another server of the app cluster answers for is not bound over it", async () => {
  const spec = {
    group: "test.klutch.dev",
    version: "v7",
    service: { namespace: "default", name: "aggregated" },
    groupPriorityMinimum: 100,
    versionPriority: 100,
    insecureSkipTLSVerify: true,
  };
  await consumer.client.create<DynamicObject>(apiServices, {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v7.test.klutch.dev" },
    spec,
  });
  const earlier = await state();
  const run = await bindService("widgets", {}, "--accept-permissions");
  await consumer.client.delete(apiServices, { name: "v7.test.klutch.dev" });
  assert.equal(run.code, 1);
  assert.match(run.stderr(), /has the API group test\.klutch\.dev from another server \(APIService v7\./);
  assert.deepEqual(await state(), earlier);
});

test("when the binding cannot be made, the role and the credential of this run go again", async () => {
  const name = "cogs.test.klutch.dev";
  await using _policy = await refuseBinding(consumer, name);
  await using _provider = answerWith(provider, tenant, {});
  // No binding of this tenant is left that needs its Secret.
  const other = await createTenant(provider, "cluster-cogs");
  await write("cogs", other);
  await using _other = answerWith(provider, "cluster-cogs", {});
  const earlier = await state();
  const args = ["apiservice", "--remote-kubeconfig", path("cogs"), "-f", "-", "--skip-konnector"];
  const run = await kubectlBind(args, { stdin: formatYaml(harmless("cogs")) });
  assert.equal(run.code, 1);
  assert.match(run.stderr(), /not here/);
  assert.deepEqual(await state(), earlier);
});

test("C4: replacing an agent with unlimited rights first gives each existing binding its role, by its own answers", async () => {
  const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  await consumer.client.delete(clusterRoles, { name: "klutch-bind-konnector" });
  await consumer.client.create(clusterRoles, roleObject({ name: "klutch-bind-konnector" }, everything), {
    fieldManager: "old-plugin",
  });
  const older = "olders.test.klutch.dev";
  await consumer.client.create<APIServiceBinding>(
    apiServiceBindings,
    bindingOf(older, "kubeconfig-older", [
      { ...claimOn("secrets", "", { selector: { owner: "Provider" } }), state: "Accepted" },
      { ...claimOn("configmaps", ""), state: "Rejected" },
    ]),
  );
  await using _provider = answerWith(provider, tenant, {});
  const run = await bindService("newers", {}, "--konnector-image=x.test/k:v2");
  assert.equal(run.code, 0, run.stderr());
  const rules = await ruleTexts(bindingRoleName(older));
  assert.match(rules, /"olders"/);
  assert.match(rules, /"secrets"/);
  assert.doesNotMatch(rules, /configmaps/);
  const revision = async (type: ResourceType, name: string): Promise<number> =>
    Number((await consumer.client.get(type, { name })).metadata.resourceVersion);
  const shrunk = await revision(clusterRoles, "klutch-bind-konnector");
  assert.doesNotMatch(await ruleTexts("klutch-bind-konnector"), /"\*"/);
  for (const type of [clusterRoles, clusterRoleBindings]) {
    assert.ok(
      (await revision(type, bindingRoleName(older))) < shrunk,
      "written before the wide role shrinks",
    );
  }
});
