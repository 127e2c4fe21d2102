/** The agent's account in an app cluster, confined by its policy and by nothing else, for tests of the policy. */
import { after } from "node:test";
import {
  type DynamicObject,
  type KubeObject,
  namespaces,
  type OwnerReference,
  type ResourceType,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import {
  applyPolicies,
  crdObject,
  installKinds,
  leaseCluster,
  namespaceObject,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { apiServiceBindingCrd } from "../../index.ts";
import type { KonnectorScope } from "../konnector-scope.ts";
import { konnectorPolicyManifests } from "../konnector.ts";

/** A bound API. */
export const widgets: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};

/** The mark of what the agent made. */
export const owned: Readonly<Record<string, string>> = { "klutch.anynines.com/resource-owner": "Provider" };
/** Belongs to nothing, so the garbage collector deletes what it owns. */
export const goneOwner: OwnerReference = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "gone",
  uid: "22222222-2222-2222-2222-222222222222",
};
/** The message of a refusal. */
export const ownersRefused: RegExp = /may not add owners and finalizers/;

/** An app cluster with namespaces `klutch-bind`, `team` and `other` and the kind of bindings, until the file's tests end. */
export async function startConfinedAgent(): Promise<{
  readonly admin: KubeClient;
  /** Acts as the agent's account, with the unlimited rights that an older agent's role gives it. */
  readonly agent: KubeClient;
  /** Applies the policy and waits until it is in force. */
  readonly confine: (scope: KonnectorScope, isInForce: () => Promise<boolean>) => Promise<void>;
}> {
  const cluster = await leaseCluster({ name: "konnector-policy" });
  after(() => cluster[Symbol.asyncDispose]());
  const admin = cluster.client;
  const agent = unlimitedClient(cluster, { namespace: "klutch-bind", name: "konnector" });
  after(() => agent[Symbol.asyncDispose]());
  for (const name of ["klutch-bind", "team", "other"]) await admin.create(namespaces, namespaceObject(name));
  await installKinds(admin, [apiServiceBindingCrd]);
  return {
    admin,
    agent,
    async confine(scope, isInForce) {
      await applyPolicies(admin, konnectorPolicyManifests(scope));
      await waitFor("the policy to be in force", isInForce);
    },
  };
}

/** The definition of a bound API as the agent writes it. */
export function crd(type: ResourceType): DynamicObject {
  const object = crdObject(type);
  const owner = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    name: object.metadata.name ?? "",
    uid: "11111111-1111-1111-1111-111111111111",
  };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
}

/** A manifest. */
export function configMap(namespace: string, name: string, metadata: object): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name, ...metadata } };
}

/** A manifest. */
export function secret(namespace: string, name: string, fields: object = {}, annotations = {}): KubeObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name, annotations }, ...fields };
}
