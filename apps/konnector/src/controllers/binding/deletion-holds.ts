/** The breakers of the bound APIs, and their condition `DeletionHeld` on the bindings. */
import { releaseDeletionsAnnotation } from "@klutch/api";
import { alarmCondition, type DynamicObject, findCondition, keyOf } from "@klutch/kube-core";
import type { RuntimeDependencies } from "../../clusters.ts";
import { asBinding } from "../../decode.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import type { DeletedNamespaces } from "../object/deleted-namespaces.ts";
import { DeletionBreaker, type HoldReason, isReleased } from "../object/deletion-breaker.ts";

/** One breaker for each API, from its first use until it is forgotten. */
export class DeletionHolds {
  readonly #status: BindingStatus;
  readonly #runtime: RuntimeDependencies;
  readonly #deletedNamespaces: DeletedNamespaces;
  readonly #breakers = new Map<string, DeletionBreaker>();
  /** When a person last released the deletions of each API, in milliseconds since the epoch. */
  readonly #releasedAt = new Map<string, number>();

  constructor(status: BindingStatus, deletedNamespaces: DeletedNamespaces, runtime: RuntimeDependencies) {
    this.#status = status;
    this.#deletedNamespaces = deletedNamespaces;
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
        onChange: (why, reason) => this.#report(key, why, reason),
      });
    this.#breakers.set(name, breaker);
    return breaker;
  }

  /** Returns when a person last released the API's deletions, in milliseconds since the epoch; NaN if never. */
  releasedAt(name: string): number {
    return this.#releasedAt.get(name) ?? Number.NaN;
  }

  forget(name: string): void {
    this.#breakers.delete(name);
    this.#releasedAt.delete(name);
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
    this.#releasedAt.set(name, Date.parse(release ?? ""));
    if (held !== undefined && isReleased(held, release)) {
      const wasHeld = breaker.holdsAny;
      if (wasHeld) breaker.release();
      else this.#status.retract(keyOf(binding), "DeletionHeld");
      return wasHeld;
    }
    if (held?.reason === ("NamespaceDeletion" satisfies HoldReason)) {
      this.#deletedNamespaces.resume();
      breaker.resumeNamespaces(held.message ?? "");
    } else if (held !== undefined) breaker.resume(held.message ?? "");
    const { deletionTimestamp: ending } = crd.metadata;
    if (ending === undefined) return false;
    if (Date.parse(release ?? "") >= Date.parse(ending)) breaker.releaseCrd(ending);
    breaker.holdForCrd(name, ending);
    return false;
  }

  #report(key: string, why: string | undefined, reason: HoldReason): void {
    const { logger } = this.#runtime;
    if (why === undefined) {
      if (![...this.#breakers.values()].some((breaker) => breaker.holdsAny)) this.#deletedNamespaces.end();
      this.#status.retract(key, "DeletionHeld");
      logger.info("upstream deletions go on", { binding: key });
      return;
    }
    this.#status.report(key, alarmCondition("DeletionHeld", reason, "Warning", why));
    logger.error("upstream deletions are held", { binding: key, why });
  }
}
