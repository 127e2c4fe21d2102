/** Reads and writes the record of a roll-out on a ClusterBinding, where no account of an app cluster can write (designs/0035-waves.md). */
import {
  type ClusterBinding,
  releaseVersion,
  rolloutRecordAnnotation,
  wantedKonnectorLabel,
} from "@klutch/api";
import { isRecord, jsonOf } from "@klutch/kube-core";

/** The way in which an app cluster got its version. */
export interface RolloutRecord {
  /** UID of the KonnectorRollout. */
  readonly rollout: string;
  readonly version: string;
  /** From 1. */
  readonly wave: number;
  /** The version before, to which a wave that fails goes back; absent where none is known. */
  readonly before?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Number of its problems at that time. */
  readonly problems: number;
  /** The wave failed, and the version before is wanted again. */
  readonly isBack?: boolean | undefined;
}

/** Returns the record; undefined where there is none or a person made it unreadable. */
export function recordOf({ metadata }: Pick<ClusterBinding, "metadata">): RolloutRecord | undefined {
  const value = jsonOf(metadata.annotations?.[rolloutRecordAnnotation]);
  if (!isRecord(value)) return undefined;
  const { rollout, version, wave, before, at, problems, isBack } = value;
  if (typeof rollout !== "string" || typeof version !== "string" || releaseVersion(version) === undefined)
    return undefined;
  if (!isCount(wave) || wave === 0 || !isCount(at) || !isCount(problems)) return undefined;
  const isKnown = typeof before === "string" && releaseVersion(before) !== undefined;
  return {
    rollout,
    version,
    wave,
    at,
    problems,
    ...(isKnown ? { before } : {}),
    ...(isBack === true ? { isBack } : {}),
  };
}

/** Returns the annotations that give an app cluster a version; null takes the wish away. */
export function annotationsFor(
  version: string | undefined,
  record: RolloutRecord,
): Readonly<Record<string, string | null>> {
  return { [wantedKonnectorLabel]: version ?? null, [rolloutRecordAnnotation]: JSON.stringify(record) };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
