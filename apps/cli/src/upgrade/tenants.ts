/** The app clusters that a control plane serves, as they reported themselves. Their words are a stranger's. */
import {
  apiServiceExports,
  appClusterBindings,
  boundByAnnotation,
  clusterBindings,
  clusterNameAnnotation,
  displayName,
  type ForeignClusterBinding,
  parseClusterBinding,
  revokedAnnotation,
} from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, keyOf, parseDuration } from "@klutch/kube-core";
import type { ClusterReader } from "./reader.ts";
import { conditionObstacle, findings, type Findings, type Obstacle, type Running } from "./report.ts";
import { newestFor, oldestFor, skewOf } from "./versions.ts";

/** A heartbeat is due within this when the binding does not say. */
const defaultIntervalMs = 300_000;

/** Room for three clocks that differ: this one, the backend's and the app cluster's. A shorter silence is in the condition `Healthy`. */
const leastSilenceMs = 600_000;

/** `now` is in milliseconds since the epoch. */
export async function lookAtTenants(
  reader: ClusterReader,
  { release, now }: { readonly release: string; readonly now: number },
): Promise<Findings> {
  const running: Running[] = [];
  const against: Obstacle[] = [];
  const notes: string[] = [];
  for (const object of await reader.list(clusterBindings)) {
    const binding = parseClusterBinding(object);
    const name = `ClusterBinding ${keyOf(object)}${namesText(object)}`;
    const version = binding.status.konnectorVersion ?? "unknown";
    running.push({ part: "konnector of", name: keyOf(object), version, state: heartbeatText(binding, now) });
    if (binding.status.lastHeartbeatTime === undefined) {
      notes.push(`${name} has never had a heartbeat: no konnector uses it yet.`);
      continue;
    }
    against.push(...versionObstacles(name, version, release), ...healthObstacles(name, binding, now));
    if (skewOf(version, release) === "development")
      notes.push(`${name}: a konnector ${version} was built without a version.`);
  }
  for (const one of await reader.list(appClusterBindings))
    against.push(...conditionObstacles(`AppClusterBinding ${keyOf(one)}`, one, "Ready"));
  // `Ready` of an export is False for ever where a backend in Go made it.
  // A revoked one stays as it is until somebody binds it again.
  for (const one of await reader.list(apiServiceExports))
    if (one.metadata.annotations?.[revokedAnnotation] === undefined)
      against.push(...conditionObstacles(`APIServiceExport ${keyOf(one)}`, one, "ProviderInSync"));
  return findings({ running, against, notes });
}

/** Names a tenant by its cluster and its person, as its ClusterBinding has them. Both are a stranger's words. */
export function namesText({ metadata }: Pick<DynamicObject, "metadata">): string {
  const names = [clusterNameAnnotation, boundByAnnotation].flatMap(
    (key) => displayName(metadata.annotations?.[key]) ?? [],
  );
  return names.length === 0 ? "" : ` (${names.join(", ")})`;
}

function heartbeatText({ status }: ForeignClusterBinding, now: number): string {
  const at = Date.parse(status.lastHeartbeatTime ?? "");
  return Number.isNaN(at) ? "no heartbeat" : `heartbeat ${Math.round((now - at) / 1000)} s ago`;
}

function versionObstacles(object: string, version: string, release: string): readonly Obstacle[] {
  const skew = skewOf(version, release);
  if (skew !== "too old" && skew !== "too new" && skew !== "unknown") return [];
  const range = `${oldestFor(release)} to ${newestFor(release)}`;
  const expected = `${range}: upgrade the konnector of this app cluster first, with kubectl bind --konnector-image or its chart`;
  return [{ object, field: "status.konnectorVersion", value: version, expected }];
}

function healthObstacles(
  object: string,
  { status }: ForeignClusterBinding,
  now: number,
): readonly Obstacle[] {
  const intervalMs = parseDuration(status.heartbeatInterval ?? "") ?? defaultIntervalMs;
  const at = Date.parse(status.lastHeartbeatTime ?? "");
  const silentMs = Math.max(2 * intervalMs, leastSilenceMs);
  if (!(now - at <= silentMs)) {
    const expected = `a time within the last ${Math.round(silentMs / 1000)} s: check that the app cluster still exists, or remove its namespace`;
    return [{ object, field: "status.lastHeartbeatTime", value: status.lastHeartbeatTime ?? "", expected }];
  }
  const ready = findCondition(status.conditions, "Ready");
  // A backend in Go says this of every ClusterBinding whose konnector is well.
  if (ready?.status !== "False" || ready.reason === "HeartbeatTimeDrift" || ready.severity === "Info")
    return [];
  return [conditionObstacle(object, "Ready", ready)];
}

function conditionObstacles(object: string, one: DynamicObject, type: string): readonly Obstacle[] {
  const condition = findCondition(conditionsOf(one), type);
  if (condition?.status === "True" || (condition === undefined && type !== "Ready")) return [];
  return [conditionObstacle(object, type, condition)];
}
