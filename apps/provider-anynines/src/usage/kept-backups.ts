/** Tells metrics how many backups are kept, and how large they are. */
import { type Backup, backupUsageOf } from "@klutch/api";
import { type Metrics, otherValue, type Sample } from "@klutch/telemetry";
import { keptBackupBytes, keptBackups } from "../metrics.ts";

/** Source of the numbers. */
export interface KeptBackupsSource {
  /** The existing Backups, as far as the caches show. */
  readonly backups: () => Iterable<Backup>;
  /** Tells whether a ProviderConfig has this key. */
  readonly hasConfig: (key: string) => boolean;
}

type PlanLabel = "service" | "plan" | "config";

/** Reads the numbers whenever metrics are asked for. */
export function readKeptBackups(metrics: Pick<Metrics, "read">, source: KeptBackupsSource): void {
  metrics.read(keptBackups, () => countsOf(source));
  metrics.read(keptBackupBytes, () => bytesOf(source));
}

/** Returns a sample for each backup that is kept. */
export function countsOf(source: KeptBackupsSource): readonly Sample<PlanLabel | "size">[] {
  return keptOf(source).map(({ labels, bytes }) => ({
    labels: { ...labels, size: bytes === undefined ? "unknown" : "known" },
    value: 1,
  }));
}

/** Returns a sample for each kept backup of a known size. */
export function bytesOf(source: KeptBackupsSource): readonly Sample<PlanLabel>[] {
  return keptOf(source).flatMap(({ labels, bytes }) =>
    bytes === undefined ? [] : [{ labels, value: bytes }],
  );
}

function keptOf({ backups, hasConfig }: KeptBackupsSource): readonly {
  readonly labels: Record<PlanLabel, string>;
  readonly bytes: number | undefined;
}[] {
  return [...backups()].flatMap((backup) => {
    const usage = backupUsageOf(backup);
    if (usage === undefined || usage.until !== undefined) return [];
    const { service, plan, config, bytes } = usage;
    return [{ labels: { service, plan, config: hasConfig(config) ? config : otherValue }, bytes }];
  });
}
