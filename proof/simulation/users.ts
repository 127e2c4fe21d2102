/** Acts as people in one app cluster, and keeps a ledger of the writes that the API server acknowledged. */
import { syncerFinalizer } from "@klutch/api";
import { customResourceDefinitions, type DynamicObject, keyOf, keyOfRef, secrets } from "@klutch/kube-core";
import { isAlreadyExists, isConflict, isNotFound, type Random } from "@klutch/kube";
import type { VirtualClock } from "@klutch/kube-testing";
import { databases, objectOf, type SimulatedApi, simulatedApis, zones } from "./apis.ts";
import { pick } from "./deeds.ts";
import { objectsOf } from "./snapshot.ts";
import { createClaim, type SimulatedTenant, workNamespaces } from "./tenant.ts";

/** The last acknowledged state of one claim. */
export interface Entry {
  /** Undefined when it was deleted. */
  spec: Readonly<Record<string, unknown>> | undefined;
  /** Virtual time of the last acknowledged delete. */
  deletedAt: number | undefined;
  /** Virtual time of the last acknowledged create. */
  madeAt: number | undefined;
}

/** Entries by `<plural> <key>`. */
export type Ledger = Map<string, Entry>;

/** Lists acknowledged edits that are not in the app cluster. */
export function lostEdits(tenant: SimulatedTenant, ledger: Ledger): string[] {
  const present = specsOf(tenant);
  return [...ledger].flatMap(([key, { spec }]) =>
    spec === undefined || present.get(key) === JSON.stringify(spec)
      ? []
      : [`${tenant.name} ${key}: an acknowledged edit is lost`],
  );
}

/** Lists acknowledged deletes whose claims are still there. */
export function lostDeletes(tenant: SimulatedTenant, ledger: Ledger): string[] {
  const present = specsOf(tenant);
  return [...ledger].flatMap(([key, { spec }]) =>
    spec === undefined && present.has(key) ? [`${tenant.name} ${key} was deleted and is there`] : [],
  );
}

/** The claims of an app cluster by the ledger's keys. */
function specsOf({ consumer }: SimulatedTenant): ReadonlyMap<string, string | undefined> {
  const claims = simulatedApis.flatMap(({ type }) =>
    objectsOf(consumer, type).map(
      (object) => [`${type.plural} ${keyOf(object)}`, JSON.stringify(object.spec)] as const,
    ),
  );
  return new Map(claims);
}

const names = ["a", "b", "c"];

/** Does one random thing. */
export async function act(
  tenant: SimulatedTenant,
  ledger: Ledger,
  clock: VirtualClock,
  random: Random,
): Promise<string> {
  const api = random() < 0.8 ? databases : zones;
  const namespace = pick(random, workNamespaces);
  const name = pick(random, names);
  const ref = api.type.namespaced ? { namespace, name } : { name };
  const key = `${api.type.plural} ${keyOfRef(ref)}`;
  const choice = random();
  const size = Math.floor(random() * 100);
  const { direct } = tenant;
  const entry = ledger.get(key) ?? { spec: undefined, deletedAt: undefined, madeAt: undefined };
  ledger.set(key, entry);
  const end = async (): Promise<void> => {
    if (!(await direct.delete(api.type, ref))) return;
    entry.spec = undefined;
    entry.deletedAt = clock.monotonic();
  };
  try {
    if (choice < 0.35) {
      const spec = { size, note: `by ${tenant.name}`, ...(random() < 0.5 ? { tags: ["x"] } : {}) };
      const claim = objectOf(api, namespace, name, spec);
      const created = await createClaim(tenant, api, claim, clock, random);
      entry.spec = created["spec"] as Entry["spec"];
      entry.madeAt = clock.monotonic();
      if (random() < 0.75 || (await mayComeBack(tenant, api, created, entry, clock)))
        return `create ${key} ${size}`;
      // They think better of it while the agent adds its finalizer.
      await clock.sleep(random() * 100);
      await end();
      return `create ${key} ${size} and delete it`;
    }
    if (choice < 0.7) {
      const drop = random() < 0.3 ? { tags: null } : {};
      const labels = { team: pick(random, ["red", "blue"]) };
      const patch = { metadata: { labels }, spec: { size, ...drop } };
      const edited = await direct.mergePatch<DynamicObject>(api.type, ref, patch);
      if (edited.metadata.deletionTimestamp === undefined) entry.spec = edited["spec"] as Entry["spec"];
      return `edit ${key} ${size}`;
    }
    if (choice < 0.93) {
      const claim = await direct.find<DynamicObject>(api.type, ref);
      const isMarked = claim?.metadata.finalizers?.includes(syncerFinalizer) === true;
      if (!isMarked && claim !== undefined && (await mayComeBack(tenant, api, claim, entry, clock)))
        return `nothing to do for ${key}`;
      await end();
      return `delete ${key}`;
    }
    await direct.delete(secrets, { namespace, name: `${name}-creds` });
    return `delete Secret ${namespace}/${name}-creds`;
  } catch (error) {
    if (isNotFound(error) || isAlreadyExists(error) || isConflict(error)) return `nothing to do for ${key}`;
    throw error;
  }
}

/**
 * A claim that is deleted without finalizer may come back if it, or its upstream object, was made in the second of its CRD, or after the clock was
 * put back before that second: it could be one that an earlier CRD took with it.
 */
async function mayComeBack(
  { direct }: SimulatedTenant,
  api: SimulatedApi,
  claim: DynamicObject,
  { madeAt = 0 }: Entry,
  clock: VirtualClock,
): Promise<boolean> {
  const { plural, group } = api.type;
  const crd = await direct.get(customResourceDefinitions, { name: `${plural}.${group}` });
  const [made = 0, since = 0] = [claim, crd].map(({ metadata }) =>
    Date.parse(metadata.creationTimestamp ?? ""),
  );
  const isPutBack = clock.now() - made < clock.monotonic() - madeAt - 1_000;
  return made - since < 2_000 || isPutBack;
}
