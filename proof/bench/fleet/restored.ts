/** The control plane is restored from a backup of its etcd under all agents (designs/0038-restored-control-plane.md). */
import { backUpEtcd, outrunBackup, type OwnCluster, restoreEtcd, waitFor } from "@klutch/kube-testing";
import { secondsText } from "../harness/statistics.ts";
import { wallClock } from "../harness/wire-log.ts";
import { arrivals, type Scene } from "./disturbances.ts";
import { probePrefix, timedKind } from "./kinds.ts";

/** The backup lacks it. */
const later = `${probePrefix}later`;
const size = 7;
const patience = { timeoutMs: 900_000, intervalMs: 1_000 };
/** Writes for each app cluster between backup and restore. */
const writes = 20;

/**
 * Backs etcd up, lets each app cluster make a claim, restores the backup, and counts what the agents make and delete before and after a person's
 * word. Throws when an agent makes an object again without it, or a claim is gone.
 */
export async function restoreControlPlane({ controlPlane, fleet, names }: Scene): Promise<void> {
  const { cluster } = controlPlane;
  await backUpEtcd(cluster);
  await fleet.tell({ make: later });
  await outrunBackup(cluster.client, names.length * writes);
  await fleet.tell({ edit: { names, size } });
  await arrivals(controlPlane, names, size);
  const { claims } = await fleet.tell({ count: true });
  const whole = await upstream(cluster);

  const stoppedAt = wallClock();
  await restoreEtcd(cluster);
  const servesAt = wallClock();
  const restored = await upstream(cluster);
  await waitFor(
    "each app cluster to say that it holds a creation",
    async () => (await fleet.tell({})).holding === names.length,
    patience,
  );
  const heldAt = wallClock();
  await arrivals(controlPlane, names, size);
  const held = await upstream(cluster);
  const { claims: left } = await fleet.tell({ count: true });
  if (held.later > 0) throw new Error(`${held.later} objects were made again without a person's word`);
  if (left !== claims) throw new Error(`${claims - left} claims are gone`);
  await fleet.tell({ release: new Date(wallClock()).toISOString() });
  const releasedAt = wallClock();
  await waitFor(
    "the objects after a person's word",
    async () => (await upstream(cluster)).later === names.length,
    patience,
  );
  console.log(
    `control plane restored from a backup: away for ${secondsText(servesAt - stoppedAt)}; upstream objects ${whole.all} before, ${restored.all} in the backup, ${held.all} after; all ${names.length} agents hold their claim ${secondsText(heldAt - servesAt)} later, none made an object, no claim of ${claims} is gone; after a person's word all objects are there in ${secondsText(wallClock() - releasedAt)}`,
  );
}

/** Counts the objects of the timed kind in the control plane, and those that the backup lacks. */
async function upstream({ client }: OwnCluster): Promise<{ readonly all: number; readonly later: number }> {
  const { items } = await client.list(timedKind.type);
  return { all: items.length, later: items.filter(({ metadata }) => metadata.name === later).length };
}
