import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceBinding,
  apiServiceBindings,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  appClusterBindings,
  type ClusterBinding,
  clusterBindings,
  controlPlaneConnectorRules,
  unbindFinalizer,
} from "@klutch/api";
import {
  clusterRoles,
  type DynamicObject,
  isRecord,
  type KubeObject,
  namespaces,
  roleBindings,
  roles,
  secrets,
  secretText,
  serviceAccounts,
} from "@klutch/kube-core";
import { formatYaml } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import {
  createKubeconfig,
  credentials,
  goodKubeconfig,
  kubeconfigSecret,
  startControlPlaneFixture,
  until,
} from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startControlPlaneFixture());
const { client, condition, create } = fixture;

const mangodbs = { group: "mangodb.com", resource: "mangodbs" };
const caches = { group: "mangodb.com", resource: "caches" };
const root = "klutch-bind-default-control-plane-test";
const inRoot = (name: string): { readonly namespace: string; readonly name: string } => ({
  namespace: root,
  name,
});
const textIn = (secret: DynamicObject | undefined): string => secretText(secret, "kubeconfig") ?? "";
const binding = (name: string): Promise<APIServiceBinding | undefined> =>
  client.find<APIServiceBinding>(apiServiceBindings, inRoot(name));

test("in control-plane mode without a login every path is unknown", async () => {
  for (const path of ["/export", "/authorize", "/"]) {
    assert.equal((await fixture.backend.app.request(path)).status, 404);
  }
});

test("the status reports a faulty Secret, in whatever order the objects are created", async () => {
  await create("control-plane-test", { apiExports: [mangodbs] });
  const secretValid = (): Promise<string> => condition("control-plane-test", "SecretValid");
  await until("the missing Secret", secretValid, /^False Error\/KubeconfigSecretNotFound: .*does not exist/);
  assert.match(await condition("control-plane-test", "Ready"), /KubeconfigSecretNotFound/);
  assert.equal(await condition("control-plane-test", "KonnectorDeployed"), "True");
  assert.equal(await client.find(namespaces, { name: root }), undefined);
  await createKubeconfig(client, "no kubeconfig: [");
  await until("the garbage", secretValid, /^False Error\/KubeconfigSecretInvalid/);
  const put = async (text: string): Promise<void> => {
    await client.mergePatch(secrets, credentials, { data: kubeconfigSecret(text)["data"] });
  };
  await put(
    formatYaml({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "a",
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      clusters: [{ name: "a", cluster: { server: "https://app.example.org" } }],
      users: [{ name: "a", user: { exec: { command: "steal" } } }],
    }),
  );
  await until("the refusal of exec", secretValid, /exec is refused: it would run a program/);
  assert.equal(await client.find(namespaces, { name: root }), undefined);
  await put(goodKubeconfig);
  await until("the good Secret", secretValid, /^True$/);
});

test("the root namespace holds account, copy of the one key, ClusterBinding and the konnector's rights", async () => {
  const copy = await waitFor("the copy", () => client.find<DynamicObject>(secrets, inRoot(credentials.name)));
  assert.deepEqual(Object.keys(isRecord(copy["data"]) ? copy["data"] : {}), ["kubeconfig"]);
  assert.equal(textIn(copy), goodKubeconfig);
  assert.deepEqual(copy.metadata.labels, {
    "klutch.anynines.com/appclusterbinding-name": "control-plane-test",
    "klutch.anynines.com/appclusterbinding-namespace": "default",
  });
  const { metadata } = await client.get(namespaces, { name: root });
  assert.equal(metadata.annotations?.["klutch.anynines.com/appclusterbinding"], "default/control-plane-test");
  await waitFor("the rest", () => client.find(roleBindings, inRoot("control-plane-connector")));
  assert.ok(await client.find(serviceAccounts, inRoot("klutch-binder")));
  const { spec, metadata: own } = await client.get<ClusterBinding>(clusterBindings, inRoot("cluster"));
  assert.equal(own.annotations?.["klutch.anynines.com/cluster-name"], "default/control-plane-test");
  assert.equal(spec.providerPrettyName, "control-plane-test");
  assert.equal(spec.kubeconfigSecretRef.name, credentials.name);
  const role = await client.get<DynamicObject>(roles, inRoot("control-plane-connector"));
  assert.deepEqual(role["rules"], controlPlaneConnectorRules);
});

test("each listed API is bound with the template's claims accepted, asked for and exported", async () => {
  const { spec } = await waitFor("the binding", () => binding("mangodbs.mangodb.com"));
  assert.deepEqual(spec.kubeconfigSecretRef, { ...credentials, namespace: root });
  assert.deepEqual(
    spec.permissionClaims?.map(({ resource, state, selector }) => [resource, state, selector?.owner]),
    [["secrets", "Accepted", "Provider"]],
  );
  await waitFor("the export", () => client.find(apiServiceExports, inRoot("mangodbs.mangodb.com")));
  const { items } = await client.list<APIServiceExportRequest>(apiServiceExportRequests, { namespace: root });
  assert.match(items[0]?.metadata.name ?? "", /^appclusterbinding-control-plane-test-mangodbs-[0-9a-f]{8}$/);
  await until(
    "the state of the bindings",
    () => condition("control-plane-test", "BindingsReady"),
    /^False Info\/BindingsPending: mangodbs\.mangodb\.com: the konnector has not taken it up yet/,
  );
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const status = { conditions: [{ type: "Ready", status: "True", lastTransitionTime: now }] };
  await client.mergePatch(
    apiServiceBindings,
    inRoot("mangodbs.mangodb.com"),
    { status },
    { subresource: "status" },
  );
  await until("Ready", () => condition("control-plane-test", "Ready"), /^True$/);
});

test("no credentials of the provider are issued for the root namespace", async () => {
  await waitFor("the tenant's role binding", () => client.find(roleBindings, inRoot("klutch-binder")));
  assert.equal(await client.find(secrets, inRoot("kubeconfig")), undefined);
});

test("a claim that was edited to Rejected stays; other edits of our fields are undone", async () => {
  const ref = inRoot("mangodbs.mangodb.com");
  const { spec } = await client.get<APIServiceBinding>(apiServiceBindings, ref);
  const rejected = spec.permissionClaims?.map((claim) => ({ ...claim, state: "Rejected" }));
  await client.mergePatch(apiServiceBindings, ref, {
    metadata: { annotations: { "klutch.anynines.com/appclusterbinding": "someone/else" } },
    spec: { permissionClaims: rejected },
  });
  await client.mergePatch(
    appClusterBindings,
    { namespace: "default", name: "control-plane-test" },
    { metadata: { annotations: { touched: "again" } } },
  );
  const found = await waitFor("our mark to come back", async () => {
    const live = await binding("mangodbs.mangodb.com");
    const mark = live?.metadata.annotations?.["klutch.anynines.com/appclusterbinding"];
    return mark === "default/control-plane-test" ? live : undefined;
  });
  assert.deepEqual(
    found.spec.permissionClaims?.map(({ state }) => state),
    ["Rejected"],
  );
});

test("a claim gives the konnector rights in the control plane only while its answer is Accepted", async () => {
  const ref = inRoot("mangodbs.mangodb.com");
  const mayReadSecrets = async (): Promise<boolean> =>
    JSON.stringify(await client.get(clusterRoles, { name: `klutch-binder-${root}` })).includes('"secrets"');
  const answer = async (state: "Accepted" | "Rejected"): Promise<void> => {
    const { spec } = await client.get<APIServiceBinding>(apiServiceBindings, ref);
    const permissionClaims = spec.permissionClaims?.map((claim) => ({ ...claim, state }));
    await client.mergePatch(apiServiceBindings, ref, { spec: { permissionClaims } });
  };
  await waitFor("no right", async () => !(await mayReadSecrets()));
  await answer("Accepted");
  await waitFor("the right", mayReadSecrets);
  await answer("Rejected");
  await waitFor("no right again", async () => !(await mayReadSecrets()));
});

test("a changed kubeconfig is copied within seconds, and a copy that may not be changed is created again", async () => {
  const ref = inRoot(credentials.name);
  const next = goodKubeconfig.replace("a-token", "b-token");
  await client.mergePatch(secrets, credentials, { data: kubeconfigSecret(next)["data"] });
  const copied = (): Promise<DynamicObject> => client.get<DynamicObject>(secrets, ref);
  await waitFor("the new credentials", async () => textIn(await copied()) === next);
  const { labels = {}, annotations = {} } = (await copied()).metadata;
  await client.delete(secrets, ref);
  await client.create<DynamicObject>(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...ref, labels, annotations },
    type: "example.org/other",
    immutable: true,
    data: { kubeconfig: "eA==" },
  });
  await waitFor("the right copy", async () => {
    const secret = await copied();
    return secret["type"] === "Opaque" && textIn(secret) === next;
  });
});

test("an API that is no longer listed is unbound; its export stays until the konnector is done", async () => {
  const ref = { namespace: "default", name: "control-plane-test" };
  await client.mergePatch(appClusterBindings, ref, { spec: { apiExports: [mangodbs, caches] } });
  const name = "caches.mangodb.com";
  await waitFor("the second export", () => client.find(apiServiceExports, inRoot(name)));
  await client.mergePatch(apiServiceBindings, inRoot(name), { metadata: { finalizers: [unbindFinalizer] } });
  await client.mergePatch(appClusterBindings, ref, { spec: { apiExports: [mangodbs] } });
  await until(
    "the unbinding",
    () => condition("control-plane-test", "BindingsReady"),
    /caches\.mangodb\.com is being unbound/,
  );
  assert.ok(await client.find(apiServiceExports, inRoot(name)));
  await client.mergePatch(apiServiceBindings, inRoot(name), { metadata: { finalizers: null } });
  await waitFor("the export to go", async () => {
    return (await client.find(apiServiceExports, inRoot(name))) === undefined;
  });
  const { items } = await client.list<KubeObject>(apiServiceExportRequests, { namespace: root });
  assert.equal(items.length, 1);
  assert.ok(await binding("mangodbs.mangodb.com"));
});

test("an API without a template is told, and the others are bound all the same", async () => {
  const missing = { group: "mangodb.com", resource: "unknowns" };
  await create("partly", { apiExports: [missing, mangodbs] });
  const said = await until(
    "the missing template",
    () => condition("partly", "BindingsReady"),
    /^False Error\/TemplateNotFound/,
  );
  assert.match(said, /unknowns\.mangodb\.com/);
  const ref = { namespace: "klutch-bind-default-partly", name: "mangodbs.mangodb.com" };
  await waitFor("the other one", () => client.find(apiServiceExports, ref));
});

test("a Secret of another namespace is used only when it says so, and nothing is told about it otherwise", async () => {
  for (const name of ["team", "vault"]) {
    await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const ref = { namespace: "vault", name: "creds" };
  await client.create(secrets, kubeconfigSecret(goodKubeconfig, ref));
  for (const name of ["creds", "absent"]) {
    await create(`use-${name}`, { kubeconfigSecretRef: { ...ref, name, key: "kubeconfig" } }, "team");
  }
  const said = async (name: string): Promise<string> =>
    until(
      "the refusal",
      () => condition(`use-${name}`, "SecretValid", "team"),
      /^False Error\/KubeconfigSecretInvalid: .*allow-from/,
    );
  assert.equal(
    (await said("creds")).replaceAll("vault/creds", "X"),
    (await said("absent")).replaceAll("vault/absent", "X"),
  );
  assert.equal(await client.find(namespaces, { name: "klutch-bind-team-use-creds" }), undefined);
  const allow = (value: string | null): Promise<KubeObject> =>
    client.mergePatch(secrets, ref, {
      metadata: { annotations: { "klutch.anynines.com/allow-from": value } },
    });
  await allow("other, team");
  const copy = { namespace: "klutch-bind-team-use-creds", name: "creds" };
  await waitFor("the copy", () => client.find(secrets, copy));
  await allow("other");
  await waitFor("the copy to go", async () => (await client.find(secrets, copy)) === undefined);
  await allow("*");
  await waitFor("the copy to come back", () => client.find(secrets, copy));
});

test("a namespace that is not marked as ours is refused and left as it is", async () => {
  const name = "klutch-bind-default-taken";
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await create("taken");
  await until(
    "the refusal",
    () => condition("taken", "NamespaceReady"),
    /^False Error\/NamespaceNotOwned: .*annotate it with klutch\.anynines\.com\/appclusterbinding=default\/taken/,
  );
  assert.equal(await client.find(secrets, { namespace: name, name: credentials.name }), undefined);
  await client.delete(appClusterBindings, { namespace: "default", name: "taken" });
  await waitFor("the object to go", async () => {
    return (await client.find(appClusterBindings, { namespace: "default", name: "taken" })) === undefined;
  });
  const { metadata } = await client.get(namespaces, { name });
  assert.equal(metadata.deletionTimestamp, undefined);
});
