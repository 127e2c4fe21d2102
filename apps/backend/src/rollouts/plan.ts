/**
 * Decides the next step of a roll-out: which app clusters get the version now, whether the wave is well, and what goes back. Everything but the
 * verdict and the time of a pause stands on the ClusterBindings, so a process that ends between two writes loses nothing (designs/0035-waves.md).
 *
 * | observed | step |
 * |---|---|
 * | the version was stopped | each app cluster of that wave goes back to the version before |
 * | no app cluster belongs to it | say so, and wait for one |
 * | an app cluster of the present wave is worse than before, or too late | stop, and say which one and why |
 * | not all of the wave run the version | wait |
 * | all are well for less than the pause | wait |
 * | paused | wait |
 * | app clusters are left that can follow | the next wave |
 * | none | completed |
 */
import {
  type KonnectorRolloutSpec,
  type KonnectorRolloutStatus,
  mostLeftShown,
  refusedUpdate,
  type RolloutLeft,
} from "@klutch/api";
import { falseCondition, type NewCondition, plainText, trueCondition, wholeSeconds } from "@klutch/kube-core";
import type { ClusterFacts } from "./facts.ts";
import type { RolloutRecord } from "./record.ts";

/** Facts about one roll-out. */
export interface ObservedRollout {
  readonly uid: string;
  readonly generation: number | undefined;
  readonly spec: KonnectorRolloutSpec;
  readonly status: KonnectorRolloutStatus;
  /** App clusters that belong to it. */
  readonly clusters: readonly ClusterFacts[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The part of the facts that places one app cluster. */
type Standing = Pick<ObservedRollout, "uid" | "spec" | "now">;

/** A version for one app cluster; undefined takes the wish away. */
export interface RolloutWrite {
  readonly namespace: string;
  readonly version: string | undefined;
  readonly record: RolloutRecord;
}

/** The status is written first if it stops the roll-out, so that a verdict is not forgotten; otherwise after the writes. */
export interface RolloutPlan {
  readonly writes: readonly RolloutWrite[];
  readonly status: Omit<KonnectorRolloutStatus, "conditions">;
  readonly condition: NewCondition;
  /** True if this step stops the roll-out. */
  readonly stops: boolean;
}

/** An app cluster must have been healthy for this long to be taken into a wave: one that flaps would be blamed on the version. */
export const steadyMs = 300_000;
/** Names of app clusters in a message. */
const mostNamed = 5;
export const rolledOut = "RolledOut";

/** Returns the next step. */
export function planRollout(observed: ObservedRollout): RolloutPlan {
  const { spec, status, clusters, now } = observed;
  if (status.stop?.version === spec.version) return goBack(observed, status.stop.wave, status.stop.message);
  if (clusters.length === 0)
    return {
      ...said(observed, 0, { phase: "Progressing" }),
      condition: falseCondition(rolledOut, "NoAppCluster", "Info", emptyMessage(spec)),
    };
  const told = clusters.filter((one) => isTold(one, observed));
  const wave = Math.max(0, ...told.map(({ record }) => record?.wave ?? 0));
  const present = told.filter(({ record }) => record?.wave === wave);
  const faults = present.flatMap((one) => faultOf(one, observed) ?? []);
  if (faults.length > 0) {
    const more = faults.length > mostNamed ? ` and ${faults.length - mostNamed} more` : "";
    const message = `wave ${wave} with ${spec.version} was stopped: ${faults.slice(0, mostNamed).join("; ")}${more}. It goes back to the version before`;
    return {
      ...said(observed, wave, { phase: "Stopped", stop: { version: spec.version, wave, message } }),
      condition: falseCondition(rolledOut, "Stopped", "Error", message),
      stops: true,
    };
  }
  if (present.some(({ version }) => version !== spec.version)) {
    const waiting = present.filter(({ version }) => version !== spec.version).length;
    return going(
      observed,
      wave,
      `wave ${wave}: ${waiting} of ${present.length} app clusters do not run ${spec.version} yet`,
    );
  }
  const wellSince = wave === 0 ? undefined : sinceOf(status, wave, now);
  const { pauseSeconds } = waveOf(spec, wave);
  if (wellSince !== undefined && now - wellSince < pauseSeconds * 1000)
    return going(
      observed,
      wave,
      `wave ${wave} runs ${spec.version}, and is watched for ${pauseSeconds} s`,
      wellSince,
    );
  const next = clusters.filter(
    (one) =>
      leftReason(one, observed) === undefined && !isTold(one, observed) && one.version !== spec.version,
  );
  if (next.length === 0) return finished(observed, wave, wellSince);
  if (spec.paused === true) return going(observed, wave, "paused: spec.paused is true", wellSince, "Paused");
  const { size = next.length } = waveOf(spec, wave + 1);
  const writes = next
    .toSorted((one, other) => (one.namespace < other.namespace ? -1 : 1))
    .slice(0, size)
    .map((one) => writeFor(one, wave + 1, observed));
  return {
    ...going(observed, wave + 1, `wave ${wave + 1}: ${writes.length} app clusters get ${spec.version}`),
    writes,
  };
}

/** Says why a roll-out changes nothing: without these words it would look like one that is over. */
export function emptyMessage({ tenantLabels = {} }: Pick<KonnectorRolloutSpec, "tenantLabels">): string {
  const none =
    Object.keys(tenantLabels).length === 0
      ? "none is bound"
      : "no Tenant of an app cluster has the labels of spec.tenantLabels";
  return `selects no app cluster: ${none}, or older roll-outs select the same ones`;
}

/** Returns true for an app cluster that this roll-out gave the version. */
function isTold({ record }: ClusterFacts, { uid, spec }: Standing): boolean {
  return record?.rollout === uid && record.version === spec.version && record.isBack !== true;
}

/** The last wave is repeated. */
function waveOf(spec: KonnectorRolloutSpec, wave: number): KonnectorRolloutSpec["waves"][number] {
  return spec.waves[Math.max(0, Math.min(wave, spec.waves.length) - 1)] ?? { pauseSeconds: 600 };
}

/** Returns the fault of an app cluster of the present wave; undefined if it has none. */
function faultOf(one: ClusterFacts, { spec, now }: ObservedRollout): string | undefined {
  const { record, namespace, updates } = one;
  if (record === undefined) return undefined;
  if (!one.isHealthy) return `${namespace} has no heartbeat`;
  if (one.problems > record.problems)
    return `${namespace} has more problems than before (${one.problem ?? ""})`;
  if (one.version === spec.version) return undefined;
  if (updates === undefined) return `${namespace} does not follow updates any more`;
  if (updates.problem !== undefined) return `${namespace} says: ${updates.problem}`;
  // A clock that went back makes the wait longer, never shorter.
  if (now - record.at > spec.deadlineSeconds * 1000)
    return `${namespace} still runs ${one.shown} after ${spec.deadlineSeconds} s`;
  return undefined;
}

/** Returns why an app cluster gets no version; undefined if it can follow, or has the version. */
function leftReason(one: ClusterFacts, { spec, now }: Standing): string | undefined {
  const { updates, healthySince } = one;
  if (one.version === spec.version) return undefined;
  if (updates === undefined)
    return one.version === undefined
      ? "its konnector says no version of a release, and does not follow updates"
      : "its operator does not follow updates, or its konnector is too old to";
  const refused = refusedUpdate(spec.version, updates);
  if (refused !== undefined) return `its operator does not allow it: ${refused}`;
  if (!one.isHealthy) return "its konnector has no heartbeat";
  if (healthySince === undefined || Math.abs(now - healthySince) < steadyMs)
    return `its heartbeat came back less than ${steadyMs / 60_000} minutes ago`;
  return undefined;
}

function writeFor(one: ClusterFacts, wave: number, { uid, spec, now }: ObservedRollout): RolloutWrite {
  const before = one.version ?? one.wanted;
  const record = { rollout: uid, version: spec.version, wave, at: now, problems: one.problems };
  return {
    namespace: one.namespace,
    version: spec.version,
    record: { ...record, ...(before === undefined ? {} : { before }) },
  };
}

/** Keeps the time of this wave. One in the future is of a clock that went back: the pause begins again. */
function sinceOf({ wave, wellSince }: KonnectorRolloutStatus, present: number, now: number): number {
  const since = Date.parse(wellSince ?? "");
  return wave === present && since <= now ? since : now;
}

function goBack(observed: ObservedRollout, wave: number, message: string): RolloutPlan {
  const writes = observed.clusters
    .filter((one) => isTold(one, observed) && one.record?.wave === wave)
    .flatMap(({ namespace, record }): readonly RolloutWrite[] =>
      record === undefined
        ? []
        : [{ namespace, version: record.before, record: { ...record, isBack: true } }],
    );
  return {
    ...said(observed, wave, { phase: "Stopped", stop: observed.status.stop }),
    writes,
    condition: falseCondition(rolledOut, "Stopped", "Error", message),
  };
}

function going(
  observed: ObservedRollout,
  wave: number,
  message: string,
  wellSince?: number,
  phase: "Progressing" | "Paused" = "Progressing",
): RolloutPlan {
  return {
    ...said(observed, wave, {
      phase,
      ...(wellSince === undefined ? {} : { wellSince: wholeSeconds(wellSince) }),
    }),
    condition: falseCondition(rolledOut, phase, "Info", message),
  };
}

function finished(observed: ObservedRollout, wave: number, wellSince: number | undefined): RolloutPlan {
  const since = wellSince === undefined ? {} : { wellSince: wholeSeconds(wellSince) };
  return { ...said(observed, wave, { phase: "Completed", ...since }), condition: trueCondition(rolledOut) };
}

/** Returns a plan that writes nothing, with the numbers of the present state. */
function said(
  observed: ObservedRollout,
  wave: number,
  more: Pick<RolloutPlan["status"], "phase" | "wellSince" | "stop">,
): Omit<RolloutPlan, "condition"> {
  const { spec, clusters, generation } = observed;
  const left = clusters
    .filter(({ version }) => version !== spec.version)
    .map(
      (one): RolloutLeft => ({
        namespace: one.namespace,
        version: one.shown,
        reason: plainText(reasonOf(one, observed), 256),
      }),
    )
    .toSorted((one, other) => (one.namespace < other.namespace ? -1 : 1));
  const status = {
    observedGeneration: generation,
    wave,
    clusters: clusters.length,
    updated: clusters.length - left.length,
    leftCount: left.length,
    left: left.slice(0, mostLeftShown),
    ...more,
  };
  return { writes: [], status, stops: false };
}

/** Returns why an app cluster does not run the version. */
export function reasonOf(one: ClusterFacts, observed: Standing): string {
  if (isTold(one, observed)) return `told in wave ${one.record?.wave ?? 0}, and not there yet`;
  const wentBack = one.record?.rollout === observed.uid && one.record.version === observed.spec.version;
  if (wentBack) return `wave ${one.record?.wave ?? 0} went back to the version before`;
  return leftReason(one, observed) ?? "waits for its wave";
}
