/** The breakers of the bound APIs, and their condition `DeletionHeld` on the bindings. */
import { releaseDeletionsAnnotation } from "@klutch/api";
import { alarmCondition, type DynamicObject, findCondition, keyOf } from "@klutch/kube-core";
import type { RuntimeDependencies } from "../../clusters.ts";
import { asBinding } from "../../decode.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import { DeletionBreaker, isReleased } from "../object/deletion-breaker.ts";

/** One breaker for each API, from its first use until it is forgotten. */
export class DeletionHolds {
  readonly #status: BindingStatus;
  readonly #runtime: RuntimeDependencies;
  readonly #breakers = new Map<string, DeletionBreaker>();

  constructor(status: BindingStatus, runtime: RuntimeDependencies) {
    this.#status = status;
    this.#runtime = runtime;
  }

  /** The breaker of the API; `key` is that of the binding that reports a hold. */
  breakerOf(name: string, key: string): DeletionBreaker {
    const { clock, timing } = this.#runtime;
    const breaker =
      this.#breakers.get(name) ??
      new DeletionBreaker({
        name,
        clock,
        limit: timing.massDeletionLimit,
        settleMs: timing.deletionSettleMs,
        onChange: (why) => this.#report(key, why),
      });
    this.#breakers.set(name, breaker);
    return breaker;
  }

  forget(name: string): void {
    this.#breakers.delete(name);
  }

  /**
   * Takes over a hold of an earlier process, ends one that was released, and holds while the CRD itself is being deleted. True when
   * deletions go on that were held: then everything is to be reconciled again.
   */
  adjust(binding: DynamicObject, crd: DynamicObject): boolean {
    const { name = "" } = binding.metadata;
    const breaker = this.#breakers.get(name);
    if (breaker === undefined) return false;
    const condition = findCondition(asBinding(binding).status?.conditions, "DeletionHeld");
    const held = condition?.status === "True" ? condition : undefined;
    const release = binding.metadata.annotations?.[releaseDeletionsAnnotation];
    if (held !== undefined && isReleased(held, release)) {
      const wasHeld = breaker.isHeld;
      if (wasHeld) breaker.release();
      else this.#status.retract(keyOf(binding), "DeletionHeld");
      return wasHeld;
    }
    if (held !== undefined) breaker.resume(held.message ?? "");
    const { deletionTimestamp: ending } = crd.metadata;
    if (ending === undefined) return false;
    if (Date.parse(release ?? "") >= Date.parse(ending)) breaker.releaseCrd(ending);
    breaker.holdForCrd(name, ending);
    return false;
  }

  #report(key: string, why: string | undefined): void {
    const { logger } = this.#runtime;
    if (why === undefined) {
      this.#status.retract(key, "DeletionHeld");
      logger.info("upstream deletions go on", { binding: key });
      return;
    }
    this.#status.report(key, alarmCondition("DeletionHeld", "MassDeletion", "Warning", why));
    logger.error("upstream deletions are held", { binding: key, why });
  }
}
