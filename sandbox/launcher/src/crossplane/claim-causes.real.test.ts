/** A real Crossplane and a real backend: the reason why a composite cannot be made stands on the claim that asked for it. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  apiServiceExports,
  apiServiceNamespaces,
  composedCondition,
  exportFromCrd,
  identityAnnotation,
} from "@klutch/api";
import {
  clusterRoles,
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  type KubeObject,
  namespaces,
  recordsAt,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import {
  anyObject,
  crdObject,
  namespaceObject,
  startCluster,
  untilServed,
  waitFor,
} from "@klutch/kube-testing";
import { legacy } from "@klutch/services";
import { silentProgress } from "../testing/silent-progress.ts";
import { startBackend } from "../services/backend.ts";
import { startDex } from "../services/dex.ts";
import { openState } from "../state.ts";
import { startCrossplane } from "./install.ts";
import * as packages from "./packages.ts";
import { ensureCertificates, runPackageRuntime } from "./runtime.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-causes-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const state = await openState(folder, false, stack);
const certificates = await ensureCertificates(join(folder, "certificates"), new Date());
const base = { state, stack, progress: silentProgress, generations: [legacy] };
const controlPlane = stack.use(
  await startCluster({ name: "control-plane", controllerManager: true, port: state.ports.controlPlaneApi }),
);
const { client } = controlPlane;
const stop = new AbortController();
const clusters = { controlPlane, appA: controlPlane, appB: controlPlane };
const context = { ...base, clusters, signal: stop.signal };
const [registry, issuer] = await Promise.all([
  packages.startRegistry(base),
  startDex(base),
  packages.startFunction(base, certificates),
]);
await startCrossplane(context, certificates);
const runtime = runPackageRuntime(context, certificates);
stack.defer(() => runtime);
stack.defer(() => stop.abort(new Error("the test ended")));
await packages.installPackages(context, registry);
await startBackend(context, issuer);

const instances: ResourceType = {
  group: "anynines.com",
  version: "v1",
  plural: "postgresqlinstances",
  kind: "PostgresqlInstance",
  namespaced: true,
};
const options = { timeoutMs: 120_000 };
const tenant = "cluster-test";
const namespace = `${tenant}-demo`;

/** Makes by hand the objects of the backend for when an app cluster binds the API and uses it in its namespace `demo`. */
async function bindInstances(): Promise<void> {
  const name = `${instances.plural}.${instances.group}`;
  const crd = await waitFor(
    "claims to be offered",
    () => client.get<KubeObject>(customResourceDefinitions, { name }),
    options,
  );
  await client.create(namespaces, namespaceObject(tenant, { [identityAnnotation]: `person#${tenant}` }));
  await client.create<KubeObject>(apiServiceNamespaces, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceNamespace",
    metadata: { namespace: tenant, name: "demo" },
    spec: {},
  } as KubeObject);
  await waitFor("the service namespace", () => client.get(namespaces, { name: namespace }), options);
  await client.create<KubeObject>(apiServiceExports, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace: tenant, name },
    spec: { ...exportFromCrd(crd).spec, informerScope: "Namespaced", permissionClaims: [] },
  });
}

const claim = (name: string, composition: string, more: object = {}): DynamicObject => ({
  apiVersion: "anynines.com/v1",
  kind: instances.kind,
  metadata: { namespace, name },
  spec: {
    service: "a9s-postgresql13",
    plan: "postgresql-single-small",
    compositionRef: { name: composition },
    ...more,
  },
});

async function untilTold(name: string, words: RegExp): Promise<void> {
  await waitFor(
    `${name} to be told ${words}`,
    async () => {
      const found = await client.get<DynamicObject>(instances, { namespace, name });
      const cause = findCondition(conditionsOf(found), composedCondition);
      assert.match(`${cause?.status} ${cause?.reason} ${cause?.message}`, words);
      return true;
    },
    options,
  );
}

const objects: ResourceType = {
  group: "kubernetes.crossplane.io",
  version: "v1alpha2",
  plural: "objects",
  kind: "Object",
  namespaced: false,
};

test("a kind that the control plane does not have", async () => {
  await bindInstances();
  await waitFor(
    "the claim to be made",
    () => client.create(instances, claim("one", "a8s-postgresql", { expose: "Internal" })),
    options,
  );
  await untilTold(
    "one",
    /^False CannotCompose The platform cannot make this: .* does not have the kind Object /,
  );
});

test("a Composition that is not there", async () => {
  await client.create(instances, claim("two", "nope"));
  await untilTold("two", /^False CannotCompose The platform cannot make this: no Composition fits.*nope/);
});

const compositions: ResourceType = {
  group: "apiextensions.crossplane.io",
  version: "v1",
  plural: "compositions",
  kind: "Composition",
  namespaced: false,
};

/** Makes a Composition whose only step calls a function with an input. */
async function compose(name: string, functionName: string, input?: object): Promise<void> {
  await client.create<KubeObject>(compositions, {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: {
      compositeTypeRef: { apiVersion: "anynines.com/v1", kind: `X${instances.kind}` },
      mode: "Pipeline",
      pipeline: [{ step: "make", functionRef: { name: functionName }, ...(input && { input }) }],
    },
  } as KubeObject);
}

test("a function that is not installed, and one that fails", async () => {
  await compose("without-function", "function-absent");
  const shipped = await client.get<DynamicObject>(compositions, { name: "a8s-postgresql" });
  const [step] = recordsAt(shipped, "spec", "pipeline");
  await compose("failing", textAt(step, "functionRef", "name") ?? "", {
    apiVersion: "example.org/v1",
    kind: "Nonsense",
  });
  await client.create(instances, claim("three", "without-function"));
  await client.create(instances, claim("four", "failing"));
  await untilTold(
    "three",
    /^False CannotCompose The platform cannot make this: the function function-absent of step make is not/,
  );
  await untilTold(
    "four",
    /^False CannotCompose The platform cannot make this at present: step make of its Composition/,
  );
});

test("a kind on which Crossplane has no rights", async () => {
  const properties = { spec: anyObject, status: anyObject };
  const crd = crdObject(objects, { properties, hasStatus: true });
  await client.create<KubeObject>(customResourceDefinitions, crd);
  await untilServed(client, crd.metadata.name ?? "");
  await client.create(instances, claim("five", "a8s-postgresql", { expose: "Internal" }));
  await untilTold(
    "five",
    /^False CannotCompose Crossplane has not worked on this .* it lacks rights on a kind/,
  );
});

test("when the kind comes, and Crossplane may use it, the claim says no more of it", async () => {
  await client.create<KubeObject>(clusterRoles, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "objects", labels: { "rbac.crossplane.io/aggregate-to-crossplane": "true" } },
    rules: [{ apiGroups: [objects.group], resources: [objects.plural], verbs: ["*"] }],
  } as KubeObject);
  await waitFor("the Object", async () => (await client.list(objects)).items.length > 0, options);
  await untilTold("one", /^undefined/);
  await untilTold("two", /^False CannotCompose/);
});
