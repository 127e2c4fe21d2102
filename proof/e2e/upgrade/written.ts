/** Finds the writes to claims and Secrets between two looks at both clusters. */
import { consumerNamespace } from "@klutch/api";
import { type KubeObject, type ResourceType, secrets } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { databases, tenants } from "../security/bound-fixture.ts";
import { type LivingFixture, namespace, serviceNamespace } from "./living-claims.ts";

/** State of one object. */
export interface ObjectVersion {
  readonly version: string;
  /** Moves with each change of a claim's spec. */
  readonly generation: number;
  /** Name of the claim; undefined for a Secret, which is never edited. */
  readonly claim: string | undefined;
}

/** Versions by cluster, kind, namespace and name. */
export type Look = ReadonlyMap<string, ObjectVersion>;

/** Reads claims, upstream objects, copied Secrets and their originals, and the credentials of konnector and tenant. */
export async function lookAtAll({
  appCluster,
  controlPlane,
}: Pick<LivingFixture, "appCluster" | "controlPlane">): Promise<Look> {
  const found = new Map<string, ObjectVersion>();
  const read = async (client: KubeClient, where: string, type: ResourceType, of: string): Promise<void> => {
    const options = { namespace: of, metadataOnly: true };
    for await (const { metadata } of client.listAll<KubeObject>(type, options)) {
      const { name = "", resourceVersion: version = "", generation = 0 } = metadata;
      const claim = type === databases ? name : undefined;
      found.set(`${where} ${type.plural} ${of}/${name}`, { version, generation, claim });
    }
  };
  await read(appCluster.client, "app cluster", databases, namespace);
  await read(controlPlane.client, "control plane", databases, serviceNamespace);
  await read(appCluster.client, "app cluster", secrets, namespace);
  await read(appCluster.client, "app cluster", secrets, consumerNamespace);
  await read(controlPlane.client, "control plane", secrets, serviceNamespace);
  await read(controlPlane.client, "control plane", secrets, tenants.a);
  return found;
}

/** Returns the objects that changed, and those of them that no edit explains. `edits` holds the number of edits of each claim in between. */
export function writtenBetween(
  before: Look,
  now: Look,
  edits: ReadonlyMap<string, number>,
): { readonly changed: readonly string[]; readonly needless: readonly string[] } {
  const keys = [...new Set([...before.keys(), ...now.keys()])];
  const changed = keys.filter((key) => before.get(key)?.version !== now.get(key)?.version);
  const needless = changed.filter((key) => {
    const [old, next] = [before.get(key), now.get(key)];
    const wanted = edits.get(next?.claim ?? "") ?? 0;
    return (
      old === undefined || next === undefined || wanted === 0 || next.generation - old.generation !== wanted
    );
  });
  return { changed, needless };
}
