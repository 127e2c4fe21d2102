/** The creation holds of the bound APIs: their condition `CreationHeld` on the bindings, and the versions that the bindings remember. */
import { providerVersionAnnotation } from "@klutch/api";
import { isForbidden, isNotFound } from "@klutch/kube";
import { alarmCondition, type DynamicObject, findCondition, keyOf, refOf } from "@klutch/kube-core";
import { releasesCreation } from "@klutch/sync";
import type { BindingCluster, RuntimeDependencies } from "../../clusters.ts";
import { asBinding } from "../../decode.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import { CreationHold, isBehind } from "../object/creation-hold.ts";

/** A binding is first written when its caches have had this time to fill, and then every ten minutes. */
const firstRecordMs = 60_000;
const recordMs = 600_000;

const restoredWords =
  "the control plane was restored from an earlier state, which lacks objects of this API. Claims that had one wait, because a new object would be empty. Bring the objects back in the control plane. To accept empty ones for all these claims";

/** One hold for each API, for the life of the provider's connection: an API that stops and starts again forgets nothing. */
export class CreationHolds {
  readonly #status: Pick<BindingStatus, "report" | "retract">;
  readonly #runtime: Pick<RuntimeDependencies, "clock" | "logger">;
  readonly #holds = new Map<string, CreationHold>();
  /** When the version of each API is next recorded, in monotonic milliseconds. */
  readonly #recordAt = new Map<string, number>();

  constructor(
    status: Pick<BindingStatus, "report" | "retract">,
    runtime: Pick<RuntimeDependencies, "clock" | "logger">,
  ) {
    this.#status = status;
    this.#runtime = runtime;
  }

  /** The hold of the API; `key` is that of the binding that reports it. */
  holdOf(name: string, key: string): CreationHold {
    const { clock } = this.#runtime;
    const hold =
      this.#holds.get(name) ??
      new CreationHold({ name, clock, onChange: (since) => this.#report(name, key, since) });
    this.#holds.set(name, hold);
    return hold;
  }

  /**
   * Takes what the binding remembers, before the API's caches open, and a person's word. Returns true when claims may be created that were held:
   * then everything is to be reconciled again.
   */
  adjust(binding: DynamicObject): boolean {
    const { name = "", annotations = {} } = binding.metadata;
    const hold = this.holdOf(name, keyOf(binding));
    const condition = findCondition(asBinding(binding).status?.conditions, "CreationHeld");
    const since = hold.held?.since ?? Date.parse(condition?.lastTransitionTime ?? "");
    const isHeld = hold.held !== undefined || condition?.status === "True";
    if (isHeld && releasesCreation(binding, since)) {
      hold.release();
      return true;
    }
    if (hold.highest === undefined) hold.saw(annotations[providerVersionAnnotation]);
    if (hold.held === undefined && condition?.status === "True") hold.resume(since);
    return false;
  }

  /**
   * Records the highest version on the binding from time to time, because a restored control plane cannot take that back. While claims are held the
   * higher one stays, so that a restart notices the restore again. Resolves to the time until the next record.
   */
  async record(
    { client, bindingType }: Pick<BindingCluster, "client" | "bindingType">,
    binding: DynamicObject,
    signal: AbortSignal,
  ): Promise<number> {
    const { name = "", uid, annotations = {} } = binding.metadata;
    const { clock, logger } = this.#runtime;
    const now = clock.monotonic();
    const at = this.#recordAt.get(name) ?? now + firstRecordMs;
    this.#recordAt.set(name, at);
    const hold = this.#holds.get(name);
    const recorded = annotations[providerVersionAnnotation];
    const highest = hold?.highest;
    const isLowered = hold?.held === undefined && isBehind(highest, recorded);
    if (at > now && !isLowered) return at - now;
    const isNews = recorded === undefined || isBehind(recorded, highest) || isLowered;
    if (highest === undefined || !isNews) return this.#recordLater(name, now);
    const patch = { metadata: { uid, annotations: { [providerVersionAnnotation]: highest } } };
    try {
      await client.mergePatch(bindingType, refOf(keyOf(binding)), patch, { signal });
    } catch (error) {
      if (!isForbidden(error) && !isNotFound(error)) throw error;
      // The rules of an older release in the app cluster do not allow it: a restore is noticed as long as this process runs.
      if (isForbidden(error))
        logger.warn("the provider's version cannot be recorded", { binding: name, error });
    }
    return this.#recordLater(name, now);
  }

  #recordLater(name: string, now: number): number {
    this.#recordAt.set(name, now + recordMs);
    return recordMs;
  }

  #report(name: string, key: string, since: number | undefined): void {
    const { logger } = this.#runtime;
    if (since === undefined) {
      this.#status.retract(key, "CreationHeld");
      logger.info("no claim waits for an object that a restore lost", { binding: key });
      return;
    }
    const message = `${restoredWords}: klutch release ${name}`;
    this.#status.report(key, alarmCondition("CreationHeld", "ProviderRestored", "Warning", message));
    logger.error("the provider was restored, and claims without their objects are held", { binding: key });
  }
}
