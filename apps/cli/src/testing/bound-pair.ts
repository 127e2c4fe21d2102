/** Two clusters as a konnector and a backend leave them after an API was bound, made by hand. */
import {
  type APIServiceBinding,
  apiServiceBindings,
  apiServiceExports,
  apiServiceNamespaces,
  boundAnnotation,
  boundApiRoleManifests,
  claimedFromLabel,
  consumerNamespace,
  fieldManager,
  type PermissionClaim,
  resourceOwnerAnnotation,
  serviceNamespaceAnnotation,
  syncerFinalizer,
  unbindFinalizer,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  refOfObject,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { findOrCreate, type KubeClient } from "@klutch/kube";
import { anyObject, crdObject, namespaceObject, type TestCluster, waitFor } from "@klutch/kube-testing";
import { defaultMetadataRule, providerContent } from "@klutch/sync";
import type { Consumer } from "../clusters.ts";
import { applyManifests } from "../app-cluster/konnector.ts";

/** A bound API. */
export interface BoundPair {
  /** `<plural>.test.klutch.dev`. */
  readonly name: string;
  readonly type: ResourceType;
  readonly tenant: { readonly namespace: string; readonly namespaceUid: string };
}

const group = "test.klutch.dev";
const claims: readonly PermissionClaim[] = [
  { group: "", resource: "secrets", version: "v1", selector: { owner: "Provider" }, required: true },
];
const claimNamespace = "app";
const serviceNamespaceOf = (tenant: string): string => `${tenant}-${claimNamespace}`;

/** Binds `<plural>`, namespaced by default: both CRDs, export, binding with its finalizer, the konnector's role, the mapping of namespace `app`. */
export async function bindApi(
  consumer: TestCluster,
  provider: TestCluster,
  tenantNamespace: string,
  plural: string,
  namespaced = true,
): Promise<BoundPair> {
  const kind = `${plural.slice(0, 1).toUpperCase()}${plural.slice(1, -1)}`;
  const type: ResourceType = { group, version: "v1", plural, kind, namespaced };
  const name = `${plural}.${group}`;
  const binding = await consumer.client.create<APIServiceBinding>(apiServiceBindings, bindingObject(name));
  const owner = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    name,
    uid: binding.metadata.uid ?? "",
  };
  await consumer.client.create(customResourceDefinitions, crdOf(type, [owner]));
  await provider.client.create(customResourceDefinitions, crdOf(type, []));
  await applyManifests(
    asConsumer(consumer.client),
    boundApiRoleManifests({ group, resource: plural }, binding.spec.permissionClaims ?? []),
    new AbortController().signal,
  );
  await provider.client.create<KubeObject>(apiServiceExports, exportObject(tenantNamespace, type));
  await ensure(consumer.client, namespaces, namespaceObject(claimNamespace));
  await mapNamespace(provider.client, tenantNamespace);
  for (const { client } of [consumer, provider])
    await waitFor(`${plural} to be served`, () => client.list(type));
  const tenant = await provider.client.get(namespaces, { name: tenantNamespace });
  return { name, type, tenant: { namespace: tenantNamespace, namespaceUid: tenant.metadata.uid ?? "" } };
}

/** A claim in `app` that is in sync, with a Secret of the provider of the same name. */
export async function syncedClaim(
  consumer: TestCluster,
  provider: TestCluster,
  { type, tenant }: BoundPair,
  name: string,
): Promise<DynamicObject> {
  const metadata = {
    name,
    namespace: claimNamespace,
    finalizers: [syncerFinalizer],
    annotations: { [boundAnnotation]: "true" },
    labels: { team: "blue" },
  };
  const body = { apiVersion: `${group}/v1`, kind: type.kind, metadata, spec: { size: 3 } };
  const claim = await consumer.client.create<DynamicObject>(type, body);
  const ref = { namespace: serviceNamespaceOf(tenant.namespace), name };
  const content = providerContent({ ...body }, ref, tenant, defaultMetadataRule);
  await provider.client.apply(type, content, { fieldManager });
  const status = { status: { phase: "Ready" } };
  await provider.client.mergePatch(type, ref, status, { subresource: "status" });
  await consumer.client.mergePatch(type, { namespace: claimNamespace, name }, status, {
    subresource: "status",
  });
  const data = { password: Buffer.from("hunter2").toString("base64") };
  const secret = { apiVersion: "v1", kind: "Secret", type: "Opaque", data };
  await provider.client.create<DynamicObject>(secrets, { ...secret, metadata: ref });
  const marks = {
    annotations: { [resourceOwnerAnnotation]: "Provider" },
    labels: { [claimedFromLabel]: tenant.namespaceUid },
  };
  await consumer.client.create<DynamicObject>(secrets, {
    ...secret,
    metadata: { name, namespace: claimNamespace, ...marks },
  });
  return claim;
}

function bindingObject(name: string): APIServiceBinding {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { name, namespace: consumerNamespace, finalizers: [unbindFinalizer] },
    spec: {
      kubeconfigSecretRef: { namespace: consumerNamespace, name: "kubeconfig-x", key: "kubeconfig" },
      permissionClaims: claims.map((claim) => ({ ...claim, state: "Accepted" })),
    },
  };
}

function crdOf(
  type: ResourceType,
  ownerReferences: NonNullable<KubeObject["metadata"]["ownerReferences"]>,
): KubeObject {
  const crd = crdObject(type, { properties: { spec: anyObject, status: anyObject }, hasStatus: true });
  return { ...crd, metadata: { ...crd.metadata, ownerReferences } };
}

function exportObject(namespace: string, { plural, kind }: ResourceType): KubeObject {
  const schema = { openAPIV3Schema: { type: "object" } };
  const version = { name: "v1", served: true, storage: true, schema, subresources: { status: {} } };
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace, name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural },
      scope: "Namespaced",
      informerScope: "Namespaced",
      versions: [version],
      permissionClaims: claims,
    },
  };
}

async function mapNamespace(client: KubeClient, tenantNamespace: string): Promise<void> {
  const annotations = { [serviceNamespaceAnnotation]: `${tenantNamespace}/${claimNamespace}` };
  const name = serviceNamespaceOf(tenantNamespace);
  await ensure(client, namespaces, namespaceObject(name, annotations));
  const mapping = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceNamespace",
    metadata: { namespace: tenantNamespace, name: claimNamespace },
  };
  await ensure(client, apiServiceNamespaces, mapping);
  const ref = { namespace: tenantNamespace, name: claimNamespace };
  const patch = { status: { namespace: name } };
  await client.mergePatch(apiServiceNamespaces, ref, patch, { subresource: "status" });
}

async function ensure(client: KubeClient, type: ResourceType, object: KubeObject): Promise<void> {
  await findOrCreate(client, type, refOfObject(object), () => object);
}

/** The client as the commands hold it. Disposing it does nothing. */
export function asConsumer(client: KubeClient): Consumer {
  const dispose = { [Symbol.asyncDispose]: () => Promise.resolve() };
  return { side: "consumer", name: "a test", place: "a test", client, ...dispose };
}
