/** A fleet of app clusters in memory, whose konnectors follow what their ClusterBindings say. For tests. */
import {
  type ClusterBinding,
  type KonnectorRolloutSpec,
  type KonnectorRolloutStatus,
  parseClusterBinding,
  refusedUpdate,
} from "@klutch/api";
import { type Condition, wholeSeconds } from "@klutch/kube-core";
import { factsOf } from "../facts.ts";
import { planRollout, type RolloutPlan } from "../plan.ts";
import { annotationsFor } from "../record.ts";

/** A fault of one app cluster; none is one that follows and stays well. */
export interface Behaviour {
  /** Versions that break it: `problem` adds a False condition, `silence` ends its heartbeat, `stuck` never runs the version. */
  readonly broken?: Readonly<Record<string, "problem" | "silence" | "stuck">>;
  /** Replaces its status, whatever happens. */
  readonly says?: Readonly<Record<string, unknown>>;
  readonly follows?: boolean;
}

interface Member {
  readonly behaviour: Behaviour;
  annotations: Readonly<Record<string, string>>;
  version: string;
  healthySince: number;
}

export const startedAt: number = Date.parse("2026-11-01T00:00:00Z");

/** Steps of virtual time: reconcile, then the konnectors. */
export class Fleet {
  now: number = startedAt;
  spec: KonnectorRolloutSpec;
  uid: string = "rollout-1";
  status: KonnectorRolloutStatus = {};
  readonly members: Map<string, Member> = new Map();
  /** Cluster namespaces in the order in which they were given a version, with it. */
  readonly told: string[] = [];

  constructor(spec: KonnectorRolloutSpec, behaviours: readonly Behaviour[]) {
    this.spec = spec;
    for (const [index, behaviour] of behaviours.entries()) {
      const name = `c${String(index).padStart(2, "0")}`;
      const healthySince = startedAt - 86_400_000;
      this.members.set(name, { behaviour, annotations: {}, version: "v1.6.0", healthySince });
    }
  }

  /** Names of those that really run the version. */
  on(version: string): readonly string[] {
    return [...this.members].filter(([, one]) => one.version === version).map(([name]) => name);
  }

  plan(): RolloutPlan {
    return planRollout({
      uid: this.uid,
      generation: 1,
      spec: this.spec,
      status: this.status,
      clusters: [...this.members].map(([name, one]) => factsOf(this.#bindingOf(name, one), [])),
      now: this.now,
    });
  }

  /** One reconcile. `mostWrites`: the process ends after this number, and the last may be the status. */
  reconcile(mostWrites: number = Number.POSITIVE_INFINITY): RolloutPlan {
    const plan = this.plan();
    let left = mostWrites;
    for (const { namespace, version, record } of plan.writes) {
      if (left-- <= 0) return plan;
      const member = this.members.get(namespace);
      if (member === undefined) throw new Error(`a version for ${namespace}, which does not exist`);
      const merged = { ...member.annotations, ...annotationsFor(version, record) };
      member.annotations = Object.fromEntries(
        Object.entries(merged).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
      );
      this.told.push(`${namespace} ${version ?? "-"}`);
    }
    if (left-- <= 0) return plan;
    this.status = plan.status;
    return plan;
  }

  /** Reconciles each half minute, after which konnectors do what they are told. */
  run(minutes: number, step: () => void = () => this.reconcile()): void {
    for (const end = this.now + minutes * 60_000; this.now < end; this.now += 30_000) {
      step();
      for (const [name, member] of this.members) this.#follow(name, member);
    }
  }

  #follow(name: string, member: Member): void {
    const { konnectorUpdates, wantedKonnector } = parseClusterBinding(this.#bindingOf(name, member));
    if (wantedKonnector === undefined || konnectorUpdates === undefined) return;
    if (refusedUpdate(wantedKonnector, konnectorUpdates) !== undefined) return;
    if (member.behaviour.broken?.[wantedKonnector] !== "stuck") member.version = wantedKonnector;
  }

  #bindingOf(namespace: string, { annotations, version, behaviour, healthySince }: Member): ClusterBinding {
    const fault = behaviour.broken?.[version];
    const time = wholeSeconds(healthySince);
    const condition = (type: string, isWell: boolean): Condition => ({
      type,
      status: isWell ? "True" : "False",
      lastTransitionTime: time,
      ...(isWell ? {} : { severity: "Error", message: `broken by ${version}` }),
    });
    const status = {
      konnectorVersion: version,
      ...(behaviour.follows === false ? {} : { konnectorUpdates: { line: "minor", floor: "v1.6.0" } }),
      conditions: [condition("Healthy", fault !== "silence"), condition("SecretValid", fault !== "problem")],
      ...behaviour.says,
    };
    return {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "ClusterBinding",
      metadata: { namespace, name: "cluster", annotations },
      spec: { kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" }, providerPrettyName: "x" },
      status,
    } as ClusterBinding;
  }
}
