/** The backend's account under its policies, with the unlimited rights that `escalate` and `bind` could give it. */
import {
  customResourceDefinitions,
  type DynamicObject,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { isForbidden, type KubeClient } from "@klutch/kube";
import { applyPolicies, leaseCluster, unlimitedClient, waitFor } from "@klutch/kube-testing";
import { bindCrds } from "../../crds.ts";
import { backendPolicyManifests } from "../backend.ts";

/** Marks of namespaces: of a tenant, of a mapping, of an AppClusterBinding. */
export const identity = { "example-backend.klutch.anynines.com/identity": "somebody#abc123" };
export const ofMapping = { "klutch.anynines.com/api-service-namespace": "tenant/team" };
export const ofAppCluster = { "klutch.anynines.com/appclusterbinding": "default/one" };
/** Labels of a namespace that the backend makes. */
export const podSecurity = { "pod-security.kubernetes.io/enforce": "restricted" };

/** An administrator and the account, which dispose of the cluster with them. */
export interface ConfinedBackend extends AsyncDisposable {
  readonly admin: KubeClient;
  readonly backend: KubeClient;
  /** Creates an object as the account. */
  readonly create: (
    type: ResourceType,
    metadata: DynamicObject["metadata"],
    fields?: object,
  ) => Promise<unknown>;
}

/** Returns an object of a type. */
export function object(
  type: ResourceType,
  metadata: DynamicObject["metadata"],
  fields: object = {},
): DynamicObject {
  const apiVersion = type.group === "" ? type.version : `${type.group}/${type.version}`;
  return { apiVersion, kind: type.kind, metadata, ...fields };
}

/** Installs Klutch's kinds and foreign namespaces, and puts the policies in force. */
export async function confineBackend(name: string): Promise<ConfinedBackend> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await leaseCluster({ name }));
  const admin = cluster.client;
  const backend = stack.use(
    unlimitedClient(cluster, { namespace: "klutch-backend", name: "klutch-backend" }),
  );
  const create: ConfinedBackend["create"] = (type, metadata, fields) =>
    backend.create(type, object(type, metadata, fields));
  for (const place of ["foreign", "klutch-backend", "crossplane-system"])
    await admin.create(namespaces, object(namespaces, { name: place }));
  for (const crd of bindCrds)
    await admin.create(
      customResourceDefinitions,
      object(customResourceDefinitions, { ...crd.metadata }, { spec: crd.spec }),
    );
  await applyPolicies(admin, backendPolicyManifests);
  let attempts = 0;
  await waitFor("the policy to be in force", () =>
    create(namespaces, { name: `probe-${attempts++}` }).then(() => false, isForbidden),
  );
  return Object.assign(stack.move(), { admin, backend, create });
}
