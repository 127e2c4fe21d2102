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
import { customResourceDefinitions, type DynamicObject, namespaces } from "@klutch/kube-core";
import { resolveEngine } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantWorld } from "../testing/tenant-world.ts";
import { bindApi, type RunningKonnector, startKonnector, testApi, widget } from "../testing/world.ts";

const widgets = testApi("widgets", "Widget");
const world = await startTenantWorld({ exported: [widgets] });
const { consumer, provider, kubeconfig, cleanup } = world;
const { onProvider, onConsumer, binding, untilReady, untilReason } = world;
let konnector: RunningKonnector = cleanup.use(await startKonnector(world));
const kubectl = await resolveEngine("kubectl");
const folder = await mkdtemp(join(tmpdir(), "klutch-restore-"));
cleanup.defer(() => rm(folder, { recursive: true }));
await writeFile(join(folder, "kubeconfig"), consumer.kubeconfig);

/** Applies with the real kubectl, as a user does; rejects when it refuses. */
async function apply(name: string, spec: object, ...flags: readonly string[]): Promise<void> {
  const file = join(folder, `${name}.json`);
  const labels = { team: "a" };
  const annotations = { "example.org/note": "mine" };
  await writeFile(file, JSON.stringify(widget(widgets.type, name, spec, { labels, annotations })));
  const common = ["--kubeconfig", join(folder, "kubeconfig"), "--cache-dir", join(folder, "cache")];
  await promisify(execFile)(kubectl, [...common, "apply", ...flags, "-f", file]);
}

const names = ["client", "server", "gitops"];
const machinery = {
  resourceRef: { name: "xr" },
  compositionRef: { name: "c" },
  compositionRevisionRef: { name: "c-1" },
};
const isGone = async (): Promise<boolean> =>
  (await consumer.client.find(customResourceDefinitions, { name: widgets.name })) === undefined;

/** What the control plane adds to a claim. */
async function workOnProvider(name: string): Promise<void> {
  await waitFor(`${name} on the provider`, () => onProvider(widgets.type, name));
  const key = { namespace: serviceNamespace, name };
  const metadata = { annotations: { "crossplane.io/external-name": "db", "theirs.example/x": "y" } };
  await provider.client.mergePatch(
    widgets.type,
    key,
    { metadata, spec: machinery },
    { fieldManager: "crossplane" },
  );
  const status = { phase: "Ready" };
  await provider.client.mergePatch(widgets.type, key, { status }, { subresource: "status" });
}

async function assertRestored(name: string, spec: object): Promise<void> {
  const claim = await waitFor(`${name} to be back and handed over`, async () => {
    const found = await onConsumer(widgets.type, name);
    return found?.status !== undefined && found.metadata.annotations?.[restoredAnnotation] === undefined
      ? found
      : undefined;
  });
  assert.deepEqual(claim.spec, spec);
  assert.deepEqual(claim.metadata.labels, { team: "a" });
  assert.deepEqual(Object.keys(claim.metadata.annotations ?? {}).toSorted(), [
    "example.org/note",
    // From outside they look like what the provider made up.
    "klutch.anynines.com/adopted",
    "klutch.anynines.com/bound",
  ]);
}

test("after the CRD was deleted in the app cluster and the API bound again, claims are as their users wrote them", async () => {
  await bindApi(world, widgets.name, kubeconfig);
  await untilReady(widgets.name);
  await apply("client", { size: 1, tags: ["x"] });
  await apply("server", { size: 1, tags: ["x"] }, "--server-side");
  await apply("gitops", { size: 1, tags: ["x"] }, "--server-side", "--field-manager=argocd-controller");
  for (const name of names) await workOnProvider(name);
  await consumer.client.delete(customResourceDefinitions, { name: widgets.name });
  await untilReason(widgets.name, "DeletionHeld", "MassDeletion");
  await consumer.client.delete(apiServiceBindings, { namespace: consumerNamespace, name: widgets.name });
  await waitFor(
    "it to be unbound",
    async () => (await binding(widgets.name)) === undefined && (await isGone()),
  );
  await bindApi(world, widgets.name, kubeconfig);
  await untilReady(widgets.name);
  for (const name of names) await assertRestored(name, { size: 1, tags: ["x"] });
});

test("the user's next apply works, client side and server side, whoever applied before", async () => {
  await apply("client", { size: 2, tags: ["x"] });
  await apply("server", { size: 2, tags: ["x"] }, "--server-side");
  await apply("gitops", { size: 2, tags: ["x"] }, "--server-side", "--field-manager=argocd-controller");
  for (const name of names) {
    await waitFor(`${name} on the provider`, async () => {
      const { spec } = (await onProvider(widgets.type, name)) ?? {};
      return (spec as { size?: number } | undefined)?.size === 2;
    });
    const found = (await onProvider(widgets.type, name)) as DynamicObject;
    assert.deepEqual(found.spec, { size: 2, tags: ["x"], ...machinery });
  }
  // And what they drop afterwards is dropped on the provider as well.
  await apply("client", { size: 2 });
  await apply("server", { size: 2 }, "--server-side");
  for (const name of ["client", "server"]) {
    await waitFor(`tags of ${name} to be gone on the provider`, async () => {
      const { spec } = (await onProvider(widgets.type, name)) ?? {};
      return (spec as { tags?: unknown } | undefined)?.tags === undefined;
    });
  }
});

test("what the provider makes comes down as a claim that its new user can apply", async () => {
  const made = widget(widgets.type, "given", { size: 7 }, { namespace: serviceNamespace });
  await provider.client.create(widgets.type, made, { fieldManager: "kubectl-create" });
  await waitFor("it in the app cluster", async () => {
    const found = await onConsumer(widgets.type, "given");
    return found !== undefined && found.metadata.annotations?.[restoredAnnotation] === undefined;
  });
  await apply("given", { size: 8 }, "--server-side");
  await waitFor("the edit on the provider", async () => {
    const { spec } = (await onProvider(widgets.type, "given")) ?? {};
    return (spec as { size?: number } | undefined)?.size === 8;
  });
});

test("claims that were lost with their CRD while no agent ran are restored, and nothing is deleted on the provider", async () => {
  await konnector[Symbol.asyncDispose]();
  const uids = new Map<string, string | undefined>();
  for (const name of [...names, "given"]) {
    uids.set(name, (await onProvider(widgets.type, name))?.metadata.uid);
    const key = { namespace: "app", name };
    await consumer.client.mergePatch(widgets.type, key, { metadata: { finalizers: null } });
  }
  await consumer.client.delete(customResourceDefinitions, { name: widgets.name });
  await waitFor("the CRD to be gone", isGone);
  konnector = cleanup.use(await startKonnector(world, { identity: "second" }));
  for (const [name, uid] of uids) {
    await waitFor(`${name} to be back`, () => onConsumer(widgets.type, name), { timeoutMs: 40_000 });
    assert.equal((await onProvider(widgets.type, name))?.metadata.uid, uid, `${name} on the provider`);
  }
  const deleted = konnector.writes.filter((write) => write === "provider delete widgets");
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
  // What is made in the second of the CRD counts as lost with the one before.
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
  konnector = cleanup.use(await startKonnector(world, { identity: "third", timing: { breakerLimit: 1 } }));
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
