/** Turns ClusterBindings, Tenants and exports into facts about app clusters, all words of which are bounded: their accounts write most of it. */
import {
  type APIServiceExport,
  type ClusterBinding,
  type KonnectorRollout,
  type KonnectorUpdates,
  parseClusterBinding,
  releaseVersion,
  type Tenant,
} from "@klutch/api";
import { conditionsOf, findCondition, isProblem, plainText } from "@klutch/kube-core";
import { recordOf, type RolloutRecord } from "./record.ts";

/** One app cluster. */
export interface ClusterFacts {
  readonly namespace: string;
  /** Version that the konnector says it has; undefined if that is not the version of a release. */
  readonly version: string | undefined;
  /** Its own words, one short line. */
  readonly shown: string;
  readonly updates: KonnectorUpdates | undefined;
  /** Version that the ClusterBinding asks for. */
  readonly wanted: string | undefined;
  readonly record: RolloutRecord | undefined;
  readonly isHealthy: boolean;
  /** Since when, in milliseconds since the epoch; undefined where that is not known. */
  readonly healthySince: number | undefined;
  /** Number of its problems, besides its heartbeat. */
  readonly problems: number;
  /** One of them. */
  readonly problem: string | undefined;
}

/** Conditions that a version of the konnector cannot change: its heartbeat is looked at by itself. */
const notOfTheKonnector: ReadonlySet<string> = new Set(["Healthy", "WithinLimits", "Authorized"]);

/** Returns the facts about one app cluster. */
export function factsOf(binding: ClusterBinding, exports: readonly APIServiceExport[]): ClusterFacts {
  const { status, konnectorUpdates, wantedKonnector } = parseClusterBinding(binding);
  const conditions = status.conditions ?? [];
  const healthy = findCondition(conditions, "Healthy");
  const since = Date.parse(healthy?.lastTransitionTime ?? "");
  const found = [conditions, ...exports.map(conditionsOf)]
    .flat()
    .filter((one) => !notOfTheKonnector.has(one.type) && isProblem(one));
  const [first] = found;
  return {
    namespace: binding.metadata.namespace ?? "",
    version: releaseVersion(status.konnectorVersion) === undefined ? undefined : status.konnectorVersion,
    shown: plainText(status.konnectorVersion ?? "unknown", 40),
    updates: konnectorUpdates,
    wanted: wantedKonnector,
    record: recordOf(binding),
    isHealthy: healthy?.status === "True",
    healthySince: Number.isNaN(since) ? undefined : since,
    problems: found.length,
    problem:
      first === undefined
        ? undefined
        : plainText(`${first.type}: ${first.message ?? first.reason ?? ""}`, 160),
  };
}

/** Returns true if the labels select the app cluster. One whose Tenant is not made yet is selected by no labels only. */
export function selects(rollout: KonnectorRollout, tenant: Tenant | undefined): boolean {
  const labels = tenant?.metadata.labels ?? {};
  return Object.entries(rollout.spec.tenantLabels ?? {}).every(([key, value]) => labels[key] === value);
}

/** Returns those that are not being deleted, the oldest first, by name among equals: an app cluster belongs to the first one that selects it. */
export function byAge(rollouts: readonly KonnectorRollout[]): readonly KonnectorRollout[] {
  const age = ({ metadata }: KonnectorRollout): string =>
    `${metadata.creationTimestamp ?? ""} ${metadata.name ?? ""}`;
  return rollouts
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .toSorted((one, other) => (age(one) < age(other) ? -1 : 1));
}
