/** Both commands against two real API servers; the provider's side is made by hand (testing/provider-side.ts). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiLimit,
  type APIServiceBinding,
  apiServiceBindings,
  apiServiceExportRequests,
  apiServiceExports,
  bindingRoleName,
  clusterIdOf,
  consumerNamespace,
  controlPlaneIdOf,
} from "@klutch/api";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  type KubeObject,
  namespaces,
  resourceQuotas,
  secrets,
  validatingAdmissionPolicies,
} from "@klutch/kube-core";
import { formatYaml, parseForeignKubeconfig, parseYaml, parseYamlDocuments } from "@klutch/kube";
import { roleObject, untilServed, waitFor } from "@klutch/kube-testing";
import { kubeconfigOf } from "../clusters.ts";
import { startBackend } from "../testing/backend.ts";
import {
  answerRequests,
  createTenant,
  prepareConsumer,
  prepareProvider,
  requestFor,
} from "../testing/provider-side.ts";
import { type Finished, type Outside, startRun } from "../testing/run.ts";
import { startTwoClusters } from "../testing/two-clusters.ts";
import { objectLines, writtenByBind } from "../testing/written.ts";

const clusters = await startTwoClusters();
after(() => clusters[Symbol.asyncDispose]());
const { consumer, provider, path, write } = clusters;
await prepareProvider(provider);
/** Kubeconfig of tenant `cluster-a` at the provider. */
const tenantKubeconfig = await createTenant(provider, "cluster-a");
await write("remote", tenantKubeconfig);
await write("config", withBrokenCurrentContext(consumer.kubeconfig));
await write("widgets.yaml", formatYaml(requestFor("widgets")));

/** The current context leads nowhere; only `--context app` reaches the cluster. */
function withBrokenCurrentContext(kubeconfig: string): string {
  const config = parseYaml(kubeconfig);
  assert.ok(isRecord(config) && Array.isArray(config["contexts"]) && Array.isArray(config["clusters"]));
  // The cluster of a pool and one that a test starts have different names.
  const own = config["current-context"];
  return formatYaml({
    ...config,
    clusters: [
      ...(config["clusters"] as unknown[]),
      { name: "broken", cluster: { server: "https://127.0.0.1:1" } },
    ],
    contexts: [
      { name: "broken", context: { cluster: "broken", user: "default" } },
      { name: "app", context: { cluster: own, user: own } },
    ],
    "current-context": "broken",
  });
}

async function kubectlBind(args: readonly string[], options: Outside = {}): Promise<Finished> {
  const outside = { env: { KUBECONFIG: path("config") }, ...options };
  return startRun("kubectl-bind", ["--context=app", "--timeout=20s", ...args], outside).done;
}

const apiService = (...more: string[]): string[] => [
  "apiservice",
  "--remote-kubeconfig",
  path("remote"),
  "-f",
  path("widgets.yaml"),
  ...more,
];

/** Lists every object that a bind command could write. */
async function state(): Promise<string[]> {
  const types = [namespaces, secrets, apiServiceExportRequests, apiServiceExports];
  return [
    ...(await objectLines(consumer.client, [...writtenByBind, customResourceDefinitions])),
    ...(await objectLines(provider.client, types)),
  ];
}

const binding = (name: string): Promise<APIServiceBinding | undefined> =>
  consumer.client.find<APIServiceBinding>(apiServiceBindings, { namespace: consumerNamespace, name });

const browser = (url: string): void => {
  void fetch(url);
};

test("a dry run prints what would be written and changes nothing in either cluster", async () => {
  const earlier = await state();
  await using backend = await startBackend(tenantKubeconfig, [requestFor("widgets")]);
  const bind = await kubectlBind([backend.url, "--dry-run"]);
  assert.equal(bind.code, 0, bind.stderr());
  const kinds = parseYamlDocuments(bind.stdout()).map((object) => (isRecord(object) ? object["kind"] : ""));
  assert.ok(kinds.includes("Namespace") && kinds.includes("Deployment"), kinds.join());
  assert.deepEqual(backend.clusterIds, [], "no login");
  const service = await kubectlBind(apiService("-d"));
  assert.equal(service.code, 0, service.stderr());
  const objects = parseYamlDocuments(service.stdout()).filter(isRecord);
  assert.deepEqual(
    ["APIServiceExportRequest", "Secret", "APIServiceBinding"].filter((kind) =>
      objects.some((object) => object["kind"] === kind),
    ),
    ["APIServiceExportRequest", "Secret", "APIServiceBinding"],
  );
  const { auth } = parseForeignKubeconfig(tenantKubeconfig);
  assert.ok(auth.kind === "token" && !service.stdout().includes(auth.token.reveal()));
  assert.deepEqual(await state(), earlier);
});

test("a control plane that is bound to itself is refused before the login, and nothing is left in it", async () => {
  const { uid = "" } = (await consumer.client.get(namespaces, { name: "kube-system" })).metadata;
  const requests = [requestFor("widgets")];
  await using backend = await startBackend(tenantKubeconfig, requests, {
    controlPlaneId: controlPlaneIdOf(uid),
  });
  const earlier = await state();
  for (const more of [[], ["--dry-run"]]) {
    const run = await kubectlBind([backend.url, ...more], { browser });
    assert.equal(run.code, 1);
    assert.match(
      run.stderr(),
      /error: context app, https:\S+ is the control plane of Example itself\. .*--context.*\. Nothing was changed/,
    );
  }
  assert.deepEqual(backend.clusterIds, [], "no login, so no tenant");
  assert.deepEqual(await state(), earlier);
  for (const controlPlaneId of [uid, controlPlaneIdOf("other"), { uid }, "x".repeat(10_000), 7]) {
    await using liar = await startBackend(tenantKubeconfig, requests, { controlPlaneId });
    const run = await kubectlBind([liar.url, "--dry-run"]);
    assert.equal(run.code, 0, run.stderr());
  }
});

test("an API server that never gets the binding kind is not waited for without end", async () => {
  await using _backend = answerRequests(provider, "cluster-a");
  const run = await kubectlBind(apiService("--accept-permissions", "--skip-konnector", "--timeout=1s"));
  assert.equal(run.code, 1);
  assert.match(run.stderr(), /Waited 1 s for the konnector to start: .*--skip-konnector/);
  const { items } = await consumer.client.list(secrets, { namespace: consumerNamespace });
  assert.deepEqual(items, [], "no credential is left behind");
});

test("a required claim that is rejected leaves the app cluster as it was", async () => {
  await using _backend = answerRequests(provider, "cluster-a");
  const consumerState = async (): Promise<string[]> =>
    (await state()).filter((line) => !line.startsWith("APIServiceExport"));
  const earlier = await consumerState();
  const run = await kubectlBind(apiService(), { answers: ["no"] });
  assert.equal(run.code, 1);
  assert.match(run.stderr(), /cannot be bound without the required permission for secrets/);
  assert.deepEqual(await consumerState(), earlier);
});

/** Creates the ClusterRole that earlier plugins installed. */
async function createUnlimitedRole(): Promise<void> {
  const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  const role = roleObject({ name: "klutch-bind-konnector" }, everything);
  await consumer.client.create(clusterRoles, role, { fieldManager: "old-plugin" });
}

test("bind apiservice makes namespace, konnector, Secret, rights and binding, and shows the rights before asking", async () => {
  await prepareConsumer(consumer);
  await createUnlimitedRole();
  await using _backend = answerRequests(provider, "cluster-a");
  const run = await kubectlBind(apiService("--konnector-image", "example.test/konnector:v1"), {
    answers: ["yes", "no"],
  });
  assert.equal(run.code, 0, run.stderr());
  assert.match(run.stdout(), /^NAME +PROVIDER +READY +MESSAGE +AGE\nwidgets\.test\.klutch\.dev .*False.*\n$/);
  const bound = await binding("widgets.test.klutch.dev");
  assert.deepEqual(
    bound?.spec.permissionClaims?.map(({ resource, state: answer }) => [resource, answer]),
    [
      ["secrets", "Accepted"],
      ["configmaps", "Rejected"],
    ],
  );
  const ref = { namespace: consumerNamespace, name: bound?.spec.kubeconfigSecretRef.name ?? "" };
  const stored = kubeconfigOf(await consumer.client.get<DynamicObject>(secrets, ref));
  const { server, namespace } = parseForeignKubeconfig(stored ?? "");
  assert.deepEqual([server, namespace], [provider.url, "cluster-a"]);
  await consumer.client.get(validatingAdmissionPolicies, {
    name: apiLimit.nameOf("widgets.test.klutch.dev"),
  });
  assert.match(run.stderr(), /\n {2}get, update, patch on widgets\.test\.klutch\.dev\/status\n/);
  // The kind is served already.
  assert.doesNotMatch(run.stderr(), /Waiting for the konnector to start/);
  assert.match(
    run.stderr(),
    /Right of the konnector: get, list, watch, create.* on secrets\n {2}RBAC cannot narrow .* can read every Secret of this cluster\.\nDo you accept/,
  );
});

test("a backend that knows of no answers is asked once, and the person is told what it gives rights for", async () => {
  await using _backend = answerRequests(provider, "cluster-a");
  const count = async (): Promise<number> =>
    (await provider.client.list(apiServiceExportRequests, { namespace: "cluster-a" })).items.length;
  const earlier = await count();
  const run = await kubectlBind(apiService("--skip-konnector"));
  assert.equal(run.code, 0, run.stderr());
  assert.match(
    run.stderr(),
    /backend ignores answers to permission claims\. .* rights for configmaps of widgets\.test\.klutch\.dev\./,
  );
  assert.equal(await count(), earlier + 1);
});

test("the konnector gets rights for the bound API and the accepted claims only", async () => {
  const name = bindingRoleName("widgets.test.klutch.dev");
  const role = await consumer.client.get<DynamicObject>(clusterRoles, { name });
  const rules = JSON.stringify(role["rules"]);
  assert.match(rules, /"widgets"/);
  assert.match(rules, /"secrets"/);
  assert.doesNotMatch(rules, /configmaps/);
  assert.doesNotMatch(rules, /"\*"/);
  const base = await consumer.client.get<DynamicObject>(clusterRoles, { name: "klutch-bind-konnector" });
  assert.doesNotMatch(JSON.stringify(base["rules"]), /"\*"/);
});

test("C13: a dry run says what a login would lead to, also when neither konnector nor namespace would be written", async () => {
  await using backend = await startBackend(tenantKubeconfig, [requestFor("widgets")]);
  const run = await kubectlBind([backend.url, "--dry-run", "--skip-konnector"]);
  assert.equal(run.code, 0, run.stderr());
  const kinds = parseYamlDocuments(run.stdout()).map((object) => (isRecord(object) ? object["kind"] : ""));
  assert.deepEqual(kinds, ["Secret"]);
  assert.match(run.stderr(), /After the login it would ask .* ClusterRoleBinding and an APIServiceBinding/);
});

test("running the command again changes neither answers nor Secret, and asks nothing", async () => {
  await using _backend = answerRequests(provider, "cluster-a");
  const earlier = await binding("widgets.test.klutch.dev");
  const run = await kubectlBind(apiService("-o", "name", "--skip-konnector"));
  assert.equal(run.code, 0, run.stderr());
  assert.equal(run.stdout(), "apiservicebinding.klutch.anynines.com/widgets.test.klutch.dev\n");
  const later = await binding("widgets.test.klutch.dev");
  assert.equal(later?.metadata.resourceVersion, earlier?.metadata.resourceVersion);
  const { items } = await consumer.client.list(secrets, { namespace: consumerNamespace });
  assert.equal(items.length, 1);
});

test("kubectl bind <url> logs in, binds the chosen API and reuses the Secret of the same tenant", async () => {
  await using _backend = answerRequests(provider, "cluster-a");
  await using backend = await startBackend(tenantKubeconfig, [requestFor("gadgets")]);
  const run = await kubectlBind([backend.url, "--skip-konnector", "-o", "json"], {
    browser,
    answers: ["yes", "yes", "yes"],
  });
  assert.equal(run.code, 0, run.stderr());
  assert.match(run.stderr(), /Example says that you chose gadgets\.test\.klutch\.dev\.\n/);
  const printed: unknown = JSON.parse(run.stdout());
  assert.ok(isRecord(printed) && printed["kind"] === "APIServiceBinding");
  const namespace = await consumer.client.get(namespaces, { name: consumerNamespace });
  assert.deepEqual(backend.clusterIds, [clusterIdOf(namespace.metadata.uid ?? "")]);
  assert.deepEqual(backend.clusterNames, ["app"], "the context of the app cluster");
  assert.match(run.stderr(), /The provider sees this cluster as app; --cluster-name changes that\.\n/);
  const { items } = await consumer.client.list(secrets, { namespace: consumerNamespace });
  assert.equal(items.length, 1);
  // This backend is of an earlier release. The person is told before the address is shown, and doctor remembers it.
  assert.match(
    run.stderr(),
    /Example cannot confirm logins, .*earlier release[^]*open this address in a browser/,
  );
  const outside = { env: { KUBECONFIG: path("config") } };
  const doctor = await startRun("klutch", ["doctor", "--context=app"], outside).done;
  assert.match(
    doctor.stdout(),
    /Logins\n +note +The credential in Secret klutch-bind\/kubeconfig-\w+ came through a browser/,
  );
});

test("a kubeconfig that would run a program is refused with the reason, and nothing is made", async () => {
  const evil = tenantKubeconfig.replace(/user:\n/, "user:\n      exec: {command: sh}\n");
  assert.notEqual(evil, tenantKubeconfig);
  await using backend = await startBackend(evil, [requestFor("gizmos")]);
  const earlier = await state();
  const run = await kubectlBind([backend.url, "--cluster-name=prod eu"], {
    browser,
    answers: ["yes", "yes"],
  });
  assert.equal(run.code, 1);
  assert.deepEqual(backend.clusterNames, ["prod eu"]);
  assert.match(
    run.stderr(),
    /error: The kubeconfig from Example cannot be used: .*exec is refused: it would run a program/,
  );
  assert.deepEqual(await state(), earlier);
});

/** A kind that the app cluster has from elsewhere. */
const ownCrd: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.own.test" },
  spec: {
    group: "own.test",
    names: { kind: "Thing", plural: "things" },
    scope: "Namespaced",
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};

test("an API that is bound to another provider, or that the cluster defines itself, is refused before anything is requested", async () => {
  const other = await createTenant(provider, "cluster-b");
  await write("other", other);
  const args = ["apiservice", "--remote-kubeconfig", path("other"), "-f"];
  await consumer.client.create(customResourceDefinitions, ownCrd);
  // Until then the API server itself writes to it.
  await untilServed(consumer.client, "things.own.test");
  const earlier = await state();
  const bound = await kubectlBind([...args, path("widgets.yaml")]);
  assert.match(bound.stderr(), /belongs to another service provider/);
  const own = {
    ...requestFor("things"),
    spec: { resources: [{ group: "own.test", resource: "things" }] },
  };
  const foreign = await kubectlBind([...args, "-"], { stdin: formatYaml(own) });
  assert.match(foreign.stderr(), /CustomResourceDefinition things\.own\.test exists in the app cluster/);
  assert.deepEqual([bound.code, foreign.code], [1, 1]);
  assert.deepEqual(await state(), earlier);
});

test("a refusal of the provider is shown in its words, and the request is taken back", async () => {
  await using _backend = answerRequests(provider, "cluster-a", { gizmos: "no template for gizmos" });
  const run = await kubectlBind(
    ["apiservice", "--remote-kubeconfig", path("remote"), "-f", "-", "--accept-permissions"],
    { stdin: formatYaml(requestFor("gizmos")) },
  );
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /The provider refused the request gizmos\.test\.klutch\.dev: no template for gizmos/,
  );
  const ref = { namespace: "cluster-a", name: "gizmos.test.klutch.dev" };
  assert.equal(await provider.client.find(apiServiceExportRequests, ref), undefined);
});

test("a provider that never answers a request is not waited for without end", async () => {
  const run = await kubectlBind(
    ["apiservice", "--remote-kubeconfig", path("remote"), "-f", "-", "--timeout=1s"],
    { stdin: formatYaml(requestFor("gizmos")) },
  );
  assert.equal(run.code, 1);
  assert.match(run.stderr(), /Waited 1 s for the provider to export gizmos/);
});

test("a tenant's quota that counts nothing yet is waited for, and not without end", async () => {
  const ref = { namespace: "cluster-a", name: "klutch-tenant" };
  const counted = "count/apiserviceexportrequests.klutch.anynines.com";
  const hard = { [counted]: "9" };
  await provider.client.create<KubeObject>(resourceQuotas, {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: ref,
    spec: { hard },
  } as KubeObject);
  /** Plays kube-controller-manager, which writes the limits at once, and the numbers in use when it knows the kind. */
  const count = (used: object): Promise<unknown> =>
    provider.client.mergePatch(resourceQuotas, ref, { status: { hard, used } }, { subresource: "status" });
  const stdin = formatYaml(requestFor("gizmos"));
  const ask = (timeout: string): Promise<Finished> =>
    kubectlBind(["apiservice", "--remote-kubeconfig", path("remote"), "-f", "-", timeout], { stdin });
  try {
    await count({});
    await waitFor("the quota to be in force", async () => {
      const run = await ask("--timeout=1s");
      assert.equal(run.code, 1);
      return /Waited 1 s for the provider to count .*status unknown for quota.*kube-controller-manager/.test(
        run.stderr(),
      );
    });
    const waiting = ask("--timeout=6s");
    await count({ [counted]: "0" });
    assert.match((await waiting).stderr(), /Waited 6 s for the provider to export gizmos/);
  } finally {
    await provider.client.delete(resourceQuotas, ref);
  }
});

test("a revoked kubeconfig: the message names the provider's cluster, not this one's flags", async () => {
  await write("revoked", tenantKubeconfig.replace(/\btoken: .*/, "token: revoked"));
  const flags = ["--remote-kubeconfig", path("revoked"), "-f", path("widgets.yaml")];
  const run = await kubectlBind(["apiservice", ...flags]);
  assert.equal(run.code, 1);
  const words = /The provider's cluster at https:\S+ refused the kubeconfig of this app cluster/;
  assert.match(run.stderr(), words);
  assert.doesNotMatch(run.stderr(), /--context, --user/);
});
