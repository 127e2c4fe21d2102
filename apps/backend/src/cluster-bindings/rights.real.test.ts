import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExport,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceExportTemplates,
  apiServiceNamespaces,
  binderName,
  clusterBindings,
  identityAnnotation,
  type PermissionClaim,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  isRecord,
  type KubeObject,
  namespaces,
  serviceAccounts,
} from "@klutch/kube-core";
import { systemClock } from "@klutch/kube";
import { crdObject, roleObject, startCluster, waitFor } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider, ownClaim, templateObject } from "../testing/provider.ts";
import { createBackend } from "../backend.ts";
import { readConfig } from "../config.ts";
import { runBackend as run } from "../testing/run-backend.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await startCluster({ name: "rights" }));
const { client, config: admin } = cluster;
const confined = stack.use(await confinedClient(cluster));

const things = { ...databases, plural: "things", kind: "Thing" };
await installProvider(client, [crdObject(databases), crdObject(things)]);
const templateRef = { namespace: "default", name: "databases" };
const shipped = [ownClaim("secrets"), ownClaim("configmaps"), ownClaim("things", "example.org")];
await waitFor("templates to be served", () =>
  client.create(apiServiceExportTemplates, templateObject("example.org", "databases", shipped)),
);
const setTemplate = (...permissionClaims: readonly PermissionClaim[]): Promise<KubeObject> =>
  client.mergePatch(apiServiceExportTemplates, templateRef, { spec: { permissionClaims } });

/** Runs a backend until the returned function is called. */
async function runBackend(...flags: readonly string[]): Promise<() => Promise<void>> {
  const abort = new AbortController();
  const config = await readConfig(["--control-plane-mode", ...flags], {});
  const common = { config, cluster: admin, client: confined, logger: silentLogger, clock: systemClock };
  const backend = createBackend({
    ...common,
    controllerClient: confined,
    metrics: createMetrics(),
    signal: abort.signal,
  });
  const running = run(backend, abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort(new Error("the test is over"));
    await running;
  };
  stack.defer(stop);
  await waitFor("the caches", () => backend.problem() === undefined);
  return stop;
}

/** A bound app cluster with one mapped namespace, whose service namespace is given back. */
async function tenant(namespace: string, permissionClaims?: readonly PermissionClaim[]): Promise<string> {
  await client.create<KubeObject>(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, annotations: { [identityAnnotation]: `${namespace}#abc123` } },
  });
  const inside = (name: string): KubeObject["metadata"] => ({ namespace, name });
  await client.create(serviceAccounts, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: inside(binderName),
  });
  const apiVersion = "klutch.anynines.com/v1alpha1";
  await client.create<KubeObject>(clusterBindings, {
    apiVersion,
    kind: "ClusterBinding",
    metadata: inside("cluster"),
    spec: { kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" }, providerPrettyName: "Tests" },
  });
  await ask(namespace, permissionClaims);
  await client.create<KubeObject>(apiServiceNamespaces, {
    apiVersion,
    kind: "APIServiceNamespace",
    metadata: inside("team"),
    spec: {},
  });
  return waitFor("the service namespace", async () => {
    const { status } = await client.get<DynamicObject>(apiServiceNamespaces, { namespace, name: "team" });
    return isRecord(status) && typeof status["namespace"] === "string" ? status["namespace"] : undefined;
  });
}

/** Asks for the API as a plugin does; without claims as an existing one may. */
async function ask(namespace: string, permissionClaims?: readonly PermissionClaim[]): Promise<void> {
  const ref = { namespace, name: "databases" };
  await client.delete(apiServiceExportRequests, ref);
  await client.create<APIServiceExportRequest>(apiServiceExportRequests, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportRequest",
    metadata: ref,
    spec: { resources: [{ group: "example.org", resource: "databases", permissionClaims }] },
  });
  await waitFor("the export", async () => {
    const { status } = await client.get<APIServiceExportRequest>(apiServiceExportRequests, ref);
    return status?.phase === "Succeeded";
  });
}

const exported = (namespace: string): Promise<APIServiceExport> =>
  client.get<APIServiceExport>(apiServiceExports, { namespace, name: "databases.example.org" });
const claimsOf = async (namespace: string): Promise<readonly string[]> =>
  ((await exported(namespace)).spec.permissionClaims ?? []).map(({ resource }) => resource);
const inSync = async (namespace: string): Promise<string> => {
  const { status } = await exported(namespace);
  const {
    status: value = "",
    reason = "",
    message = "",
  } = findCondition(status?.conditions, "ProviderInSync") ?? {};
  return `${value} ${reason} ${message}`;
};

const reviews = {
  group: "authorization.k8s.io",
  version: "v1",
  plural: "subjectaccessreviews",
  kind: "SubjectAccessReview",
  namespaced: false,
};
/** `kubectl auth can-i` for an app cluster's account; `in` is a namespace or `*` for all. */
async function canI(of: string, verb: string, what: string, where: string): Promise<boolean> {
  const [resource = "", ...group] = what.split(".");
  const resourceAttributes = {
    verb,
    resource,
    group: group.join("."),
    ...(where === "*" ? {} : { namespace: where }),
  };
  const { status } = await client.create<DynamicObject>(reviews, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: {},
    spec: { user: `system:serviceaccount:${of}:${binderName}`, resourceAttributes },
  });
  return isRecord(status) && status["allowed"] === true;
}
/** Every verb that the account has on the resource there. */
async function verbs(of: string, what: string, where: string): Promise<string> {
  const found: string[] = [];
  for (const verb of ["get", "list", "watch", "create", "update", "patch", "delete"]) {
    if (await canI(of, verb, what, where)) found.push(verb);
  }
  return found.join();
}
const all = "get,list,watch,create,update,patch,delete";

test("with consumer scope Cluster a claim on Secrets opens them in the tenant's service namespaces and nowhere else", async () => {
  const stop = await runBackend("--consumer-scope=cluster");
  // As backends made it before, and existing ones make it still: everything, everywhere.
  const before = roleObject({ name: `klutch-binder-wide` }, [
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get", "list"] },
  ]);
  await client.create(clusterRoles, before);
  await client.create<DynamicObject>(clusterRoleBindings, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "klutch-binder-wide" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "klutch-binder-wide" },
    subjects: [{ kind: "ServiceAccount", name: binderName, namespace: "wide" }],
  });
  const service = await tenant("wide");
  await waitFor("the rights", async () => (await verbs("wide", "secrets", service)) === all);
  await waitFor("the kind's rights", async () => (await verbs("wide", "databases.example.org", "*")) === all);
  await waitFor("the old binding to go", async () => !(await canI("wide", "get", "secrets", "kube-system")));
  for (const resource of ["secrets", "configmaps", "events"]) {
    for (const where of ["*", "kube-system", "default"]) {
      assert.equal(await verbs("wide", resource, where), "", `${resource} in ${where}`);
    }
  }
  assert.equal(await verbs("wide", "things.example.org", "*"), all);
  assert.equal(await verbs("wide", "events", service), "get,list,watch");
  await stop();
});

test("a backend that goes from scope Cluster to Namespaced takes back what held in the whole cluster", async () => {
  stack.defer(await runBackend());
  await waitFor("the rights to go", async () => (await verbs("wide", "databases.example.org", "*")) === "");
  await waitFor(
    "those inside",
    async () => (await verbs("wide", "databases.example.org", "wide-team")) === all,
  );
});

test("claims of a template that change reach exports and rights, in both directions", async () => {
  const service = await tenant("follows");
  assert.deepEqual(await claimsOf("follows"), ["secrets", "configmaps", "things"]);
  await setTemplate(ownClaim("secrets"));
  await waitFor("fewer claims", async () => (await claimsOf("follows")).join() === "secrets");
  await waitFor("fewer rights", async () => (await verbs("follows", "configmaps", service)) === "");
  assert.equal(await verbs("follows", "things.example.org", service), "");
  assert.equal(await verbs("follows", "secrets", service), all);
  await setTemplate(...shipped);
  await waitFor("more claims", async () => (await claimsOf("follows")).length === 3);
  await waitFor("more rights", async () => (await verbs("follows", "configmaps", service)) === all);
});

test("a claim that the app cluster rejected gives no right, until it is accepted", async () => {
  const service = await tenant("picky", [ownClaim("secrets")]);
  await waitFor("the rights", async () => (await verbs("picky", "secrets", service)) === all);
  assert.equal(await verbs("picky", "configmaps", service), "");
  assert.equal(await verbs("picky", "things.example.org", service), "");
  // The export goes on saying what the provider asks for: agents compare their answers with it.
  assert.deepEqual(await claimsOf("picky"), ["secrets", "configmaps", "things"]);
  await ask("picky", shipped);
  await waitFor("all rights", async () => (await verbs("picky", "configmaps", service)) === all);
  await ask("picky", []);
  await waitFor("no claimed rights", async () => (await verbs("picky", "secrets", service)) === "");
  assert.equal(await verbs("picky", "databases.example.org", service), all);
  // A plugin that says nothing of claims takes all that the template has.
  await ask("picky");
  await waitFor("all rights again", async () => (await verbs("picky", "secrets", service)) === all);
});

test("a claim that no template has gives no right, whatever a request says", async () => {
  const service = await tenant("greedy", [
    ...shipped,
    ownClaim("pods"),
    ownClaim("roles", "rbac.authorization.k8s.io"),
  ]);
  await waitFor("the rights", async () => (await verbs("greedy", "secrets", service)) === all);
  assert.equal(await verbs("greedy", "pods", service), "");
  assert.equal(await verbs("greedy", "roles.rbac.authorization.k8s.io", service), "");
});

test("a CRD that is gone for a while costs no export, and its return repairs it", async () => {
  await tenant("patient");
  await waitFor("ProviderInSync", async () => (await inSync("patient")).startsWith("True"));
  const { uid } = (await exported("patient")).metadata;
  await client.delete(customResourceDefinitions, { name: "databases.example.org" });
  await waitFor("the condition", async () =>
    /^False CustomResourceDefinitionNotFound .*databases\.example\.org/.test(await inSync("patient")),
  );
  assert.equal((await exported("patient")).metadata.uid, uid);
  await client.create<KubeObject>(customResourceDefinitions, crdObject(databases));
  await waitFor("ProviderInSync again", async () => (await inSync("patient")).startsWith("True"));
  assert.equal((await exported("patient")).metadata.uid, uid);
});

test("without its template an API takes no new objects and no claimed ones, and what is there can still be served and deleted", async () => {
  const service = await tenant("withdrawn");
  await waitFor("the rights", async () => (await verbs("withdrawn", "secrets", service)) === all);
  await client.delete(apiServiceExportTemplates, templateRef);
  await waitFor("the condition", async () => (await inSync("withdrawn")).startsWith("False NotOffered "));
  await waitFor("no claimed rights", async () => (await verbs("withdrawn", "secrets", service)) === "");
  const left = "get,list,watch,update,patch,delete";
  await waitFor(
    "no new objects",
    async () => (await verbs("withdrawn", "databases.example.org", service)) === left,
  );
  assert.deepEqual(await claimsOf("withdrawn"), []);
  await client.create(apiServiceExportTemplates, templateObject("example.org", "databases", shipped));
  await waitFor("all rights again", async () => (await verbs("withdrawn", "secrets", service)) === all);
  await waitFor(
    "new objects again",
    async () => (await verbs("withdrawn", "databases.example.org", service)) === all,
  );
});
