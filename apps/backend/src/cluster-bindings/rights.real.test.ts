import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExport,
  type APIServiceExportRequest,
  type APIServiceExportTemplate,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceExportTemplates,
  apiServiceNamespaces,
  binderName,
  clusterBindingName,
  clusterBindings,
  type PermissionClaim,
  resourceNamed,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type KubeObject,
  namespaces,
} from "@klutch/kube-core";
import {
  crdObject,
  isAllowed,
  roleBindingObject,
  roleObject,
  leaseCluster,
  waitFor,
} from "@klutch/kube-testing";
import { isForbidden, type KubeClient, systemClock } from "@klutch/kube";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider, ownClaim, templateObject, offerDatabases } from "../testing/provider.ts";
import { startBackend } from "../testing/start-backend.ts";
import { conditionText, createTenant, exportRequest, mapNamespace } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "rights" }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));

const things = { ...databases, plural: "things", kind: "Thing" };
await installProvider(client, [crdObject(databases), crdObject(things)]);
const templateRef = { namespace: "default", name: "databases" };
const shipped = [ownClaim("secrets"), ownClaim("configmaps"), ownClaim("things", "example.org")];
await offerDatabases(client, shipped);
const setTemplate = (...permissionClaims: readonly PermissionClaim[]): Promise<KubeObject> =>
  client.mergePatch(apiServiceExportTemplates, templateRef, { spec: { permissionClaims } });

/** Starts a backend with these flags; the returned function ends it. */
async function runBackend(...flags: readonly string[]): Promise<() => Promise<void>> {
  const given = {
    flags: ["--control-plane-mode", "--bind-authorization=everyone", ...flags],
    client: confined,
  };
  return (await startBackend(stack, cluster, given)).stop;
}

/** A bound app cluster with one mapped namespace, whose service namespace is given back. */
async function tenant(namespace: string, permissionClaims?: readonly PermissionClaim[]): Promise<string> {
  await createTenant(client, namespace, `${namespace}#abc123`);
  await ask(namespace, permissionClaims);
  return mapNamespace(client, { namespace, name: "team" });
}

/** Asks for the API as a plugin does; without claims as an existing one may. */
async function ask(namespace: string, permissionClaims?: readonly PermissionClaim[]): Promise<void> {
  const ref = { namespace, name: "databases" };
  await client.delete(apiServiceExportRequests, ref);
  await client.create(apiServiceExportRequests, exportRequest(ref, "databases", permissionClaims));
  await waitFor("the export", async () => {
    const { status } = await client.get<APIServiceExportRequest>(apiServiceExportRequests, ref);
    return status?.phase === "Succeeded";
  });
}

const exported = (namespace: string): Promise<APIServiceExport> =>
  client.get<APIServiceExport>(apiServiceExports, { namespace, name: "databases.example.org" });
const claimsOf = async (namespace: string): Promise<readonly string[]> =>
  ((await exported(namespace)).spec.permissionClaims ?? []).map(({ resource }) => resource);
const inSync = async (namespace: string): Promise<string> =>
  conditionText((await exported(namespace)).status?.conditions, "ProviderInSync");

/** `kubectl auth can-i` for an app cluster's account; `where` is a namespace or `*` for all. */
function canI(of: string, verb: string, what: string, where: string): Promise<boolean> {
  const question = { verb, ...resourceNamed(what) };
  const user = `system:serviceaccount:${of}:${binderName}`;
  return isAllowed(client, user, question, where === "*" ? undefined : where);
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
  const account = { namespace: "wide", name: binderName };
  await client.create(
    clusterRoleBindings,
    roleBindingObject(
      { name: "klutch-binder-wide" },
      { kind: "ClusterRole", name: "klutch-binder-wide" },
      account,
    ),
  );
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
  await runBackend();
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

test("without its template an API takes no new objects and no claimed ones, and existing ones can still be served and deleted", async () => {
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

test("a kind that operators do not offer costs a tenant the rights on it and no others, and its template says so", async () => {
  const list = (...kinds: readonly (readonly [string, string])[]): Promise<KubeObject> => {
    const rules = kinds.map(([group, resource]) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: ["offer"],
    }));
    const role = roleObject({ name: "klutch-backend-claims" }, rules);
    return client.apply<KubeObject>(clusterRoles, role, { fieldManager: "operator", force: true });
  };
  await list(["example.org", "databases"], ["", "secrets"]);
  const probe = roleObject({ name: "klutch-binder-probe" }, [
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
  ]);
  await waitFor("the list to be in force", () =>
    confined.create(clusterRoles, probe, { dryRun: true }).then(() => false, isForbidden),
  );
  const service = await tenant("unlisted");
  await waitFor("the rights", async () => (await verbs("unlisted", "secrets", service)) === all);
  assert.equal(await verbs("unlisted", "databases.example.org", service), all);
  assert.equal(await verbs("unlisted", "configmaps", service), "");
  const { metadata } = await client.get(namespaces, { name: service });
  assert.equal(metadata.labels?.["pod-security.kubernetes.io/enforce"], "restricted");
  await client.mergePatch(apiServiceExportTemplates, templateRef, { metadata: { labels: { touched: "1" } } });
  const offered = async (): Promise<string> => {
    const { status } = await client.get<APIServiceExportTemplate>(apiServiceExportTemplates, templateRef);
    return conditionText(status?.conditions, "Offered");
  };
  await waitFor("the template", async () =>
    /^False NoRightToOffer .* on configmaps, things\.example\.org: no ClusterRole/.test(await offered()),
  );
  await list(["example.org", "databases"], ["", "secrets"], ["", "configmaps"], ["example.org", "things"]);
  await waitFor("all rights", async () => (await verbs("unlisted", "configmaps", service)) === all);
  await waitFor("the template again", async () => (await offered()).startsWith("True"));
});

test("rights that are as they should be are not written again, nor read at each change, also of a tenant that bound nothing", async () => {
  const seen = { passes: 0, reads: 0, writes: 0 };
  const counting: KubeClient = {
    ...confined,
    find(type, ref, options) {
      if (type.kind === "ClusterRole" && ref.name === "klutch-binder-idle") seen.reads++;
      if (type.kind === "Secret" && ref.namespace === "idle") seen.passes++;
      return confined.find(type, ref, options);
    },
    apply(type, object, options) {
      if (type.kind === "ClusterRole" && object.metadata.name === "klutch-binder-idle") seen.writes++;
      return confined.apply(type, object, options);
    },
  };
  const { stop } = await startBackend(stack, cluster, { flags: ["--control-plane-mode"], client: counting });
  await createTenant(client, "idle", "idle#abc123");
  const startedAt = systemClock.monotonic();
  for (const touched of ["1", "2", "3"]) {
    const before = seen.passes;
    const ref = { namespace: "idle", name: clusterBindingName };
    await client.mergePatch(clusterBindings, ref, { metadata: { labels: { touched } } });
    await waitFor("the next reconcile", () => seen.passes > before);
  }
  await stop();
  const mostReads = 1 + Math.floor((systemClock.monotonic() - startedAt) / 30_000);
  assert.ok(seen.reads <= mostReads, `${seen.reads} reads`);
  // Backends of other tests run, too, and one of them may have made the role.
  assert.ok(seen.writes <= 1, `${seen.writes} writes`);
});

test("namespaces of an earlier release get pod security, and a level that an operator chose stays", async () => {
  const enforce = "pod-security.kubernetes.io/enforce";
  const levelOf = async (name: string): Promise<string | undefined> =>
    (await client.get(namespaces, { name })).metadata.labels?.[enforce];
  const chosen = { metadata: { labels: { [enforce]: "baseline" } } };
  await createTenant(client, "chosen", "chosen#abc123");
  await client.mergePatch(namespaces, { name: "chosen" }, chosen);
  const service = await mapNamespace(client, { namespace: "chosen", name: "team" });
  assert.equal(await levelOf(service), "restricted");
  await client.mergePatch(namespaces, { name: service }, chosen);
  await createTenant(client, "earlier", "earlier#abc123");
  await waitFor("the label", async () => (await levelOf("earlier")) === "restricted");
  // A change of the mapping has both namespaces looked at again.
  await client.mergePatch(
    apiServiceNamespaces,
    { namespace: "chosen", name: "team" },
    { metadata: { labels: { touched: "1" } } },
  );
  await mapNamespace(client, { namespace: "chosen", name: "other" });
  assert.equal(await levelOf(service), "baseline");
  assert.equal(await levelOf("chosen"), "baseline");
});
