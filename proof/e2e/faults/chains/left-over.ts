/** Finds remains of the claims of chains: databases, logins, rows, dumps and objects of the control plane. */
import {
  backups as managedBackups,
  managedServiceBindings,
  providerConfigUsages,
  restores as managedRestores,
  serviceInstances,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, type ResourceType, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { backups, bindings, compositeOf, instances, restores } from "../../claim-kinds.ts";
import { claimNamespace, type Fixture } from "./fixture.ts";

const restMs = 180_000;

/** Returns everything that is still left after three minutes. */
export async function leftOver({ client, ledger }: Fixture): Promise<readonly string[]> {
  let left: readonly string[] = [];
  const isEmpty = async (): Promise<boolean> => {
    const held: readonly (readonly string[])[] = Object.values(await ledger.holdings());
    left = [...held.flat(), ...(await objectsLeft(client))];
    return left.length === 0;
  };
  await waitFor("everything to be gone", isEmpty, { timeoutMs: restMs, intervalMs: 1_000 }).catch(
    (error: unknown) => {
      if (left.length === 0) throw error;
    },
  );
  return left;
}

const claimTypes = [instances, bindings, backups, restores];
const leftTypes: readonly ResourceType[] = [
  ...claimTypes,
  ...claimTypes.map(compositeOf),
  serviceInstances,
  managedServiceBindings,
  managedBackups,
  managedRestores,
  providerConfigUsages,
];

/** Returns `kind name` of each existing object. */
async function objectsLeft(client: KubeClient): Promise<readonly string[]> {
  const inNamespace = { namespace: claimNamespace };
  const lists = await Promise.all([
    ...leftTypes.map(async (type) => (await client.list<DynamicObject>(type)).items.map(nameWith(type))),
    client.list<DynamicObject>(secrets, inNamespace).then(({ items }) => items.map(nameWith(secrets))),
  ]);
  return lists.flat();
}

const nameWith =
  ({ kind }: ResourceType) =>
  ({ metadata }: DynamicObject): string =>
    `${kind} ${metadata.name}`;
