/**
 * The condition by which a MutatingAdmissionPolicy of the app cluster knows when to give new claims our marks (designs/0022-marks-at-admission.md).
 * It stands while claims are synced, and not before the API server knows their schema everywhere: until then such a policy makes it refuse them.
 */
import { claimMarksCondition } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  isDeleting,
  keyOf,
  trueCondition,
} from "@klutch/kube-core";
import { servedVersions } from "@klutch/sync";
import type { RuntimeDependencies } from "../../clusters.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";

/** For this long after a binding is deleted, an API server may still mark a new claim. */
const policySettlesMs = 1_000;

interface Served {
  /** UID of the CRD and the versions that it serves. */
  readonly what: string;
  /** Monotonic milliseconds. */
  readonly since: number;
}

/** Reports the condition for each API, and takes it back. */
export class ClaimMarks {
  readonly #status: Pick<BindingStatus, "report" | "retract">;
  readonly #runtime: Pick<RuntimeDependencies, "clock" | "timing">;
  readonly #served = new Map<string, Served>();
  /** Monotonic milliseconds at which the unbinding of an API was first seen, by name. */
  readonly #unbindingSince = new Map<string, number>();

  constructor(
    status: Pick<BindingStatus, "report" | "retract">,
    runtime: Pick<RuntimeDependencies, "clock" | "timing">,
  ) {
    this.#status = status;
    this.#runtime = runtime;
  }

  /** Called while the API's claims are synced. Returns the milliseconds after which it must be called again. */
  synced(name: string, binding: DynamicObject, crd: DynamicObject): number | undefined {
    const versions = [...servedVersions(crd)].toSorted().join(", ");
    const condition = {
      ...trueCondition(claimMarksCondition),
      message: `claims of version ${versions} are synced, and the cluster may mark new ones when they are created`,
    };
    const known = findCondition(conditionsOf(binding), claimMarksCondition);
    const what = `${crd.metadata.uid ?? ""} ${versions}`;
    const { clock, timing } = this.#runtime;
    const now = clock.monotonic();
    let served = this.#served.get(name);
    if (served?.what !== what) {
      // A konnector that ran before reported it: it goes on without a break.
      const wasReported = served === undefined && known?.message === condition.message;
      served = { what, since: wasReported ? now - timing.schemaSettlesMs : now };
      this.#served.set(name, served);
    }
    const waitMs = served.since + timing.schemaSettlesMs - now;
    if (waitMs > 0) this.#status.retract(keyOf(binding), claimMarksCondition);
    else this.#status.report(keyOf(binding), condition);
    return waitMs > 0 ? waitMs : undefined;
  }

  /** Called when the API's claims are no longer synced. The condition of a binding that is being deleted does not count. */
  stopped(name: string, binding: DynamicObject | undefined): void {
    this.#served.delete(name);
    this.#unbindingSince.delete(name);
    if (binding !== undefined && !isDeleting(binding))
      this.#status.retract(keyOf(binding), claimMarksCondition);
  }

  /** Returns the milliseconds for which the unbinding must go on: a claim may still be marked until then. */
  settlesInMs(name: string, binding: DynamicObject): number {
    if (findCondition(conditionsOf(binding), claimMarksCondition)?.status !== "True") return 0;
    const now = this.#runtime.clock.monotonic();
    const since = this.#unbindingSince.get(name) ?? now;
    this.#unbindingSince.set(name, since);
    return Math.max(0, since + policySettlesMs - now);
  }
}
