/** Claims that were lost in the app cluster with their CustomResourceDefinition come back as their users wrote them, and can be applied again. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  apiServiceBindings,
  apiServiceNamespaces,
  consumerNamespace,
  releaseDeletionsAnnotation,
  restoredAnnotation,
} from "@klutch/api";
import { customResourceDefinitions, type DynamicObject, namespaces, recordAt } from "@klutch/kube-core";
import { resolveEngine } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import {
  bindApi,
  type RunningKonnector,
  startKonnector,
  type TestApi,
  testApi,
  widget,
} from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const crates = testApi("crates", "Crate");

/** A kind of claims, and what the control plane adds to each. */
interface ClaimKind {
  readonly api: TestApi;
  /** Crossplane's own fields, as its users write them. */
  readonly choice: object;
  readonly manager: string;
  readonly metadata: object;
  readonly machinery: object;
  /** The choice and the machinery together. */
  readonly both: object;
}

const references = { compositionRevisionRef: { name: "c-1" }, resourceRefs: [{ kind: "Part", name: "p" }] };
const chosen = { compositionRef: { name: "c" } };
const legacyMachinery = { resourceRef: { name: "xr" }, ...chosen, compositionRevisionRef: { name: "c-1" } };

/** A legacy claim stands for a composite of its own; a namespaced composite of Crossplane 2 is the claim itself. */
const kinds: readonly ClaimKind[] = [
  {
    api: widgets,
    choice: {},
    manager: "crossplane",
    metadata: {},
    machinery: legacyMachinery,
    both: legacyMachinery,
  },
  {
    api: crates,
    choice: { crossplane: chosen },
    manager: "apiextensions.crossplane.io/composite",
    metadata: {
      labels: { "crossplane.io/composite": "its-own-name" },
      finalizers: ["composite.apiextensions.crossplane.io"],
    },
    machinery: { crossplane: references },
    both: { crossplane: { ...chosen, ...references } },
  },
];

const fixture = await startTenantFixture({ exported: [widgets, crates] });
const { consumer, provider, kubeconfig, cleanup } = fixture;
const { onProvider, onConsumer, binding, untilReady, untilReason } = fixture;
let konnector: RunningKonnector = cleanup.use(await startKonnector(fixture));
const kubectl = await resolveEngine("kubectl");
const folder = await mkdtemp(join(tmpdir(), "klutch-restore-"));
cleanup.defer(() => rm(folder, { recursive: true }));
await writeFile(join(folder, "kubeconfig"), consumer.kubeconfig);

/** Applies with the real kubectl, as a user does; rejects when it refuses. */
async function apply(
  { api: { type }, choice }: ClaimKind,
  name: string,
  spec: object,
  ...flags: readonly string[]
): Promise<void> {
  const file = join(folder, `${type.plural}-${name}.json`);
  const labels = { team: "a" };
  const annotations = { "example.org/note": "mine" };
  const claim = widget(type, name, { ...choice, ...spec }, { labels, annotations });
  await writeFile(file, JSON.stringify(claim));
  const common = ["--kubeconfig", join(folder, "kubeconfig"), "--cache-dir", join(folder, "cache")];
  await promisify(execFile)(kubectl, [...common, "apply", ...flags, "-f", file]);
}

/** As three users do, each with a tool of its own. */
async function applyAll(kind: ClaimKind, spec: object): Promise<void> {
  await apply(kind, "client", spec);
  await apply(kind, "server", spec, "--server-side");
  await apply(kind, "gitops", spec, "--server-side", "--field-manager=argocd-controller");
}

const names = ["client", "server", "gitops"];
const isGone = async ({ api }: ClaimKind): Promise<boolean> =>
  (await consumer.client.find(customResourceDefinitions, { name: api.name })) === undefined;
const inAppCluster = (name: string) => ({ namespace: "app", name });
const sizeOf = (object: DynamicObject | undefined): unknown => recordAt(object, "spec")["size"];

/** The fields that the control plane adds to a claim. */
async function workOnProvider({ api, manager, metadata, machinery }: ClaimKind, name: string): Promise<void> {
  const { type } = api;
  await waitFor(`${type.kind} ${name} on the provider`, () => onProvider(type, name));
  const key = { namespace: serviceNamespace, name };
  const annotations = { "crossplane.io/external-name": "db", "theirs.example/x": "y" };
  const patch = { metadata: { ...metadata, annotations }, spec: machinery };
  await provider.client.mergePatch(type, key, patch, { fieldManager: manager });
  const status = { phase: "Ready" };
  await provider.client.mergePatch(type, key, { status }, { subresource: "status" });
}

async function assertRestored({ api: { type }, choice }: ClaimKind, name: string): Promise<void> {
  const claim = await waitFor(`${type.kind} ${name} to be back and handed over`, async () => {
    const found = await onConsumer(type, name);
    return found?.status !== undefined && found.metadata.annotations?.[restoredAnnotation] === undefined
      ? found
      : undefined;
  });
  assert.deepEqual(claim.spec, { ...choice, size: 1, tags: ["x"] });
  assert.deepEqual(claim.metadata.labels, { team: "a" });
  assert.deepEqual(Object.keys(claim.metadata.annotations ?? {}).toSorted(), [
    "example.org/note",
    // From outside they look like what the provider made up.
    "klutch.anynines.com/adopted",
    "klutch.anynines.com/bound",
  ]);
}

for (const kind of kinds) {
  const { type, name: apiName } = kind.api;

  test(`${type.kind}: after the CRD was deleted in the app cluster and the API bound again, claims are as their users wrote them`, async () => {
    await bindApi(fixture, apiName, kubeconfig);
    await untilReady(apiName);
    await applyAll(kind, { size: 1, tags: ["x"] });
    for (const name of names) await workOnProvider(kind, name);
    await consumer.client.delete(customResourceDefinitions, { name: apiName });
    await untilReason(apiName, "DeletionHeld", "MassDeletion");
    await consumer.client.delete(apiServiceBindings, { namespace: consumerNamespace, name: apiName });
    await waitFor(
      "it to be unbound",
      async () => (await binding(apiName)) === undefined && (await isGone(kind)),
    );
    await bindApi(fixture, apiName, kubeconfig);
    await untilReady(apiName);
    for (const name of names) await assertRestored(kind, name);
  });

  test(`${type.kind}: the user's next apply works, client side and server side, after any other applier`, async () => {
    await applyAll(kind, { size: 2, tags: ["x"] });
    for (const name of names) {
      const found = await waitFor(`${name} on the provider`, async () => {
        const object = await onProvider(type, name);
        return sizeOf(object) === 2 ? object : undefined;
      });
      assert.deepEqual(found.spec, { size: 2, tags: ["x"], ...kind.both });
    }
    // And what they drop afterwards is dropped on the provider as well.
    await apply(kind, "client", { size: 2 });
    await apply(kind, "server", { size: 2 }, "--server-side");
    for (const name of ["client", "server"]) {
      await waitFor(
        `tags of ${name} to be gone on the provider`,
        async () => recordAt(await onProvider(type, name), "spec")["tags"] === undefined,
      );
    }
  });

  test(`${type.kind}: what the provider makes comes down as a claim that its new user can apply`, async () => {
    const made = widget(type, "given", { size: 7 }, { namespace: serviceNamespace });
    await provider.client.create(type, made, { fieldManager: "kubectl-create" });
    await waitFor("it in the app cluster", async () => {
      const found = await onConsumer(type, "given");
      return found !== undefined && found.metadata.annotations?.[restoredAnnotation] === undefined;
    });
    await apply(kind, "given", { size: 8 }, "--server-side");
    await waitFor("the edit on the provider", async () => sizeOf(await onProvider(type, "given")) === 8);
  });
}

test("claims that were lost with their CRD while no agent ran are restored, and nothing is deleted on the provider", async () => {
  await konnector[Symbol.asyncDispose]();
  const uids: (readonly [TestApi, string, string | undefined])[] = [];
  for (const { api } of kinds)
    for (const name of [...names, "given"]) {
      uids.push([api, name, (await onProvider(api.type, name))?.metadata.uid]);
      await consumer.client.mergePatch(api.type, inAppCluster(name), { metadata: { finalizers: null } });
    }
  for (const { api } of kinds) await consumer.client.delete(customResourceDefinitions, { name: api.name });
  for (const kind of kinds) await waitFor("the CRD to be gone", () => isGone(kind));
  konnector = cleanup.use(await startKonnector(fixture, { identity: "second" }));
  for (const [{ type }, name, uid] of uids) {
    const what = `${type.kind} ${name}`;
    await waitFor(`${what} to be back`, () => onConsumer(type, name), { timeoutMs: 40_000 });
    assert.equal((await onProvider(type, name))?.metadata.uid, uid, `${what} on the provider`);
  }
  const deleted = konnector.writes.filter((write) => write.startsWith("provider delete"));
  assert.deepEqual(deleted, []);
});

/** Ends a namespace as the controller manager would, which does not run here. */
async function endNamespace(name: string): Promise<void> {
  await consumer.client.delete(namespaces, { name });
  const ending = await consumer.client.get<DynamicObject>(namespaces, { name });
  const path = `/api/v1/namespaces/${name}/finalize`;
  await consumer.client.request({ method: "PUT", path, body: { ...ending, spec: { finalizers: [] } } });
}

test("a namespace that is gone without its claims' deletions keeps its mapping, and with it all upstream objects, until they are released", async () => {
  const mapping = (name: string): Promise<unknown> =>
    provider.client.find(apiServiceNamespaces, { namespace: tenantNamespace, name });
  const upstream = (name: string, namespace = "wiped"): Promise<unknown> =>
    provider.client.find(widgets.type, { namespace: `${tenantNamespace}-${namespace}`, name });
  // An object created in the same second as the CRD counts as lost with the earlier CRD.
  const crd = await consumer.client.get(customResourceDefinitions, { name: widgets.name });
  const made = Date.parse(crd.metadata.creationTimestamp ?? "");
  await waitFor("a later second", () => Promise.resolve(new Date().getTime() >= made + 1_000));
  for (const name of ["wiped", "empty"]) {
    await consumer.client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    for (const claim of ["a", "b", "c"])
      await consumer.client.create(widgets.type, widget(widgets.type, claim, {}, { namespace: name }));
    await waitFor(`the mapping of ${name}`, () => mapping(name));
  }
  for (const claim of ["a", "b", "c"]) {
    await waitFor(`${claim} on the provider`, () => upstream(claim));
    // A delete that meets the agent's finalizer on its way may win, and the upstream object is an orphan then, as in the other namespace.
    await waitFor(`the other ${claim} on the provider`, () => upstream(claim, "empty"));
    await consumer.client.delete(widgets.type, { namespace: "empty", name: claim });
    await waitFor(
      `${claim} to be gone`,
      async () =>
        (await consumer.client.find(widgets.type, { namespace: "empty", name: claim })) === undefined,
    );
  }
  await konnector[Symbol.asyncDispose]();
  for (const name of ["a", "b", "c"]) {
    const key = { namespace: "wiped", name };
    await consumer.client.mergePatch(widgets.type, key, { metadata: { finalizers: null } });
    await consumer.client.delete(widgets.type, key);
  }
  for (const name of ["wiped", "empty"]) await endNamespace(name);
  konnector = cleanup.use(await startKonnector(fixture, { identity: "third", timing: { breakerLimit: 1 } }));
  await untilReason(widgets.name, "DeletionHeld", "MassDeletion");
  await waitFor("the other mapping to be released", async () => (await mapping("empty")) === undefined);
  assert.ok(await mapping("wiped"));
  for (const claim of ["a", "b", "c"]) assert.ok(await upstream(claim), claim);
  await consumer.client.mergePatch(
    apiServiceBindings,
    { namespace: consumerNamespace, name: widgets.name },
    { metadata: { annotations: { [releaseDeletionsAnnotation]: new Date().toISOString() } } },
  );
  await waitFor("the mapping to be released", async () => (await mapping("wiped")) === undefined);
  for (const claim of ["a", "b", "c"]) assert.equal(await upstream(claim), undefined, claim);
});
