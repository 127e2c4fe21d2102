/** The claims of a chain, and everything that may be left of them in the control plane. */
import {
  backups as managedBackups,
  managedServiceBindings,
  providerConfigUsages,
  restores as managedRestores,
  serviceInstances,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, type ResourceType, secrets } from "@klutch/kube-core";
import { backups, bindings, compositeOf, instances, nano, restores } from "../../claim-kinds.ts";
import { claimNamespace } from "./world.ts";

/** What a chain claims, each once. */
export type ClaimName = "instance" | "binding" | "backup" | "restore";

/** Kinds of the claims. */
export const claimTypes: Readonly<Record<ClaimName, ResourceType>> = {
  instance: instances,
  binding: bindings,
  backup: backups,
  restore: restores,
};

const serviceInstanceType = "postgresql";

/** The claims of the chain `name`; all have its name. */
export function claimsOf(name: string): Readonly<Record<ClaimName, DynamicObject>> {
  const claim = (of: ClaimName, spec: object): DynamicObject => ({
    apiVersion: "anynines.com/v1",
    kind: claimTypes[of].kind,
    metadata: { namespace: claimNamespace, name },
    spec,
  });
  return {
    instance: claim("instance", nano),
    binding: claim("binding", { instanceRef: name, serviceInstanceType }),
    backup: claim("backup", { instanceRef: name, serviceInstanceType }),
    restore: claim("restore", { backupRef: name, instanceRef: name, serviceInstanceType }),
  };
}

const leftTypes: readonly ResourceType[] = [
  ...Object.values(claimTypes),
  ...Object.values(claimTypes).map(compositeOf),
  serviceInstances,
  managedServiceBindings,
  managedBackups,
  managedRestores,
  providerConfigUsages,
];

/** `kind name` of each object that is there. */
export async function objectsLeft(client: KubeClient): Promise<readonly string[]> {
  const lists = await Promise.all(leftTypes.map((one) => client.list<DynamicObject>(one)));
  const ofKinds = lists.flatMap(({ items }, index) =>
    items.map(({ metadata }) => `${leftTypes[index]?.kind} ${metadata.name}`),
  );
  const credentials = await client.list<DynamicObject>(secrets, { namespace: claimNamespace });
  return [...ofKinds, ...credentials.items.map(({ metadata }) => `Secret ${metadata.name}`)];
}
