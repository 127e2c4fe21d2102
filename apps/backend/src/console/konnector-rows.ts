/** Derives the console's rows of konnector versions from ClusterBindings and roll-outs, with the same rules that carry roll-outs out. No I/O. */
import {
  type ClusterBinding,
  clusterBindingName,
  clusterNameAnnotation,
  displayName,
  type KonnectorRollout,
  type Tenant,
} from "@klutch/api";
import { plainText } from "@klutch/kube-core";
import type { KonnectorRow } from "@klutch/overview";
import { byAge, type ClusterFacts, factsOf, selects } from "../rollouts/facts.ts";
import { emptyMessage, reasonOf } from "../rollouts/plan.ts";
import type { Reading } from "./row-memory.ts";

const [wordLimit, textLimit] = [100, 400];

/** Reads a row for each app cluster that is not going, and then one for each roll-out that selects none of them. `now`: milliseconds since the epoch. */
export function* readKonnectors(
  bindings: Iterable<ClusterBinding>,
  rollouts: readonly KonnectorRollout[],
  tenantIn: ReadonlyMap<string, Tenant>,
  now: number,
): Generator<Reading<KonnectorRow>> {
  const ordered = byAge(rollouts);
  const idle = new Set(ordered);
  for (const binding of bindings) {
    const { namespace = "", name, deletionTimestamp } = binding.metadata;
    if (name !== clusterBindingName || deletionTimestamp !== undefined) continue;
    const tenant = tenantIn.get(namespace);
    const rollout = ordered.find((one) => selects(one, tenant));
    if (rollout !== undefined) idle.delete(rollout);
    const facts = factsOf(binding, []);
    const standing =
      rollout === undefined || facts.version === rollout.spec.version
        ? ""
        : reasonOf(facts, { uid: rollout.metadata.uid ?? "", spec: rollout.spec, now });
    const make = (): readonly KonnectorRow[] => [konnectorRow(binding, facts, rollout, standing)];
    yield { deps: [binding, rollout, standing], make };
  }
  for (const rollout of idle) yield { deps: [rollout], make: () => [idleRow(rollout)] };
}

/** Operators alone see it: it belongs to no tenant. */
function idleRow(rollout: KonnectorRollout): KonnectorRow {
  const { metadata, spec, status } = rollout;
  const name = plainText(metadata.name ?? "", 253);
  return {
    id: `rollouts/${name}`,
    tenant: "",
    name: "",
    version: "",
    wanted: plainText(spec.version, 40),
    follows: "",
    rollout: name,
    phase: status?.phase ?? "",
    channel: channelOf(rollout),
    wave: undefined,
    health: "pending",
    says: plainText(emptyMessage(spec), textLimit),
    stopped: "",
    next: "kubectl get tenants -A --show-labels",
  };
}

function konnectorRow(
  { metadata }: ClusterBinding,
  facts: ClusterFacts,
  rollout: KonnectorRollout | undefined,
  standing: string,
): KonnectorRow {
  const { namespace, updates, wanted, record } = facts;
  const { status, spec } = rollout ?? {};
  const stop = status?.stop?.version === spec?.version ? status?.stop : undefined;
  const isOfRollout = record !== undefined && record.rollout === rollout?.metadata.uid;
  const rolloutName = plainText(rollout?.metadata.name ?? "", 253);
  const refused = updates?.problem;
  const says = standing === "" || refused === undefined ? standing : `${standing}; it says: ${refused}`;
  const isAtFault = refused !== undefined || (stop !== undefined && isOfRollout && record.wave === stop.wave);
  return {
    id: namespace,
    tenant: namespace,
    name: displayName(metadata.annotations?.[clusterNameAnnotation]) ?? "",
    version: facts.shown,
    wanted: plainText(wanted ?? "", 40),
    follows: updates === undefined ? "" : `${updates.line} from ${updates.floor}`,
    rollout: rolloutName,
    phase: status?.phase ?? "",
    channel: channelOf(rollout),
    wave: isOfRollout && record.version === spec?.version ? record.wave : undefined,
    health: standing === "" ? "well" : isAtFault ? "problem" : "pending",
    says: plainText(says, textLimit),
    stopped: plainText(stop?.message ?? "", textLimit),
    next: nextOf(standing, facts, stop === undefined ? "" : rolloutName),
  };
}

function channelOf(rollout: KonnectorRollout | undefined): string {
  const labels = Object.entries(rollout?.spec.tenantLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  return plainText(labels.toSorted().join(", "), wordLimit);
}

/** `stopped`: name of the roll-out if it has stopped. */
function nextOf(standing: string, { updates, namespace }: ClusterFacts, stopped: string): string {
  if (standing === "") return "";
  if (updates === undefined) return "in the app cluster: kubectl bind --follow-updates patch";
  if (stopped !== "") return `kubectl edit konnectorrollouts ${stopped}`;
  return `kubectl get clusterbindings cluster -n ${namespace} -o yaml`;
}
