/**
 * The external client of Backup: one backup at a backup manager.
 *
 * | recorded | what is asked  | then                                                                                     |
 * |----------|----------------|------------------------------------------------------------------------------------------|
 * | nothing  | nothing        | to be made, when its instance is ready and nothing else of the instance is being made    |
 * | calling  | the list       | taken, looked for again, or to be called again                                           |
 * | made     | the backup     | as the manager says; what is gone there stays gone                                       |
 */
import type { ServiceInstance } from "@klutch/api";
import {
  type Backup as FoundBackup,
  type BackupManagerClient,
  findLostBackup,
  isGone,
  phaseOf,
} from "@klutch/backup-manager";
import type { CallOptions, ExternalClient, Observation } from "@klutch/crossplane";
import { isClearNo, listOrNothing, toExternalError } from "../backup-manager/errors.ts";
import type { OnceCalls } from "../backup-manager/once.ts";
import type { Applicant, Turns } from "../backup-manager/turns.ts";
import { instanceIdAnnotation, serviceIdAnnotation } from "../critical-annotations.ts";
import { notWhile, notYet } from "../waiting.ts";
import { BackupState, type BackupStateOptions, instanceIdOfBackup } from "./state.ts";
import { backupTarget, onlyOne } from "./target.ts";

/** What the client of one backup needs. */
export interface BackupClientOptions extends BackupStateOptions {
  readonly manager: Pick<BackupManagerClient, "createBackup" | "listBackups" | "getBackup" | "deleteBackup">;
  /** Those of the claim that the backup names. */
  readonly instances: () => readonly ServiceInstance[];
  /** Names of the restores that put something into an instance now. */
  readonly restoresInto: (instanceId: string) => readonly string[];
  /** Names of the restores that read this backup now. */
  readonly restoresOfThis: () => readonly string[];
  readonly turns: Turns;
  readonly applicant: (instanceId: string) => Applicant;
}

/** While something moves. */
const movingMs = 2_000;
/** While the manager's word is not known here. */
const unknownMs = 60_000;

/** Lives for one reconcile. */
export class BackupClient implements ExternalClient {
  readonly #options: BackupClientOptions;
  readonly #state: BackupState;

  constructor(options: BackupClientOptions) {
    this.#options = options;
    this.#state = new BackupState(options);
  }

  async observe(options: CallOptions): Promise<Observation> {
    try {
      return await this.#observe(options);
    } catch (error) {
      throw toExternalError(error, "question");
    }
  }

  async create(options: CallOptions): Promise<void> {
    const { managed, instances, restoresInto } = this.#options;
    const { record } = this.#state.call;
    const known = record.kind === "nothing" ? undefined : instanceIdOfBackup(managed);
    const target = known === undefined ? backupTarget(managed, instances()) : { instanceId: known };
    const { instanceId } = target;
    const [restore] = restoresInto(instanceId);
    if (restore !== undefined) {
      const message = `the restore ${restore} of the same instance is running; the backup begins afterwards`;
      throw notWhile("Restore", message);
    }
    const also = {
      [instanceIdAnnotation]: instanceId,
      ...("serviceId" in target ? { [serviceIdAnnotation]: target.serviceId } : {}),
    };
    try {
      await this.#inTurn(instanceId, () => this.#state.call.make(this.#calls(instanceId), also, options));
    } catch (error) {
      throw toExternalError(error, "change");
    }
  }

  async update(): Promise<void> {}

  async delete(options: CallOptions): Promise<void> {
    const { manager, restoresOfThis } = this.#options;
    const { record } = this.#state.call;
    if (record.kind !== "made") return;
    const [restore] = restoresOfThis();
    if (restore !== undefined) {
      const message = `the restore ${restore} of this backup is still running; the backup is deleted afterwards`;
      throw notWhile("Restore", message);
    }
    try {
      await manager.deleteBackup({ instanceId: this.#instanceId(), backupId: record.id }, options);
    } catch (error) {
      if (!isGone(error)) throw toExternalError(error, "change");
    }
  }

  async #observe(options: CallOptions): Promise<Observation> {
    const state = this.#state;
    const { record } = state.call;
    if (!state.call.isOpen) this.#options.turns.leave(state.managed.metadata.uid ?? "");
    if (record.kind === "nothing") return state.observation({ exists: false, ready: "creating" });
    if (record.kind === "made") return this.#observeMade(record.id, options);
    const instanceId = this.#instanceId();
    const waitMs = await this.#inTurn(instanceId, () => state.call.look(this.#calls(instanceId), options));
    const { record: now } = state.call;
    if (now.kind === "made") return this.#observeMade(now.id, options);
    return state.observation({
      exists: waitMs !== undefined,
      ready: state.isDeleting ? "deleting" : "creating",
      message:
        "it is not known whether the backup manager got the request; the backup is looked for in its list",
      pollAfterMs: waitMs,
    });
  }

  async #observeMade(id: number, options: CallOptions): Promise<Observation> {
    const state = this.#state;
    const instanceId = this.#instanceId();
    await this.#nameOthers(instanceId, id, options);
    let found: FoundBackup | undefined;
    try {
      found = await this.#options.manager.getBackup({ instanceId, backupId: id }, options);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    if (found === undefined) return this.#observeGone(instanceId, id);
    state.show(instanceId, found);
    switch (phaseOf(found.state)) {
      case "InProgress":
        return state.observation({ exists: true, ready: "creating", pollAfterMs: movingMs });
      case "Succeeded":
        return state.observation({ exists: true, ready: "available", pollAfterMs: this.#restMs });
      case "Failed":
        return state.observation({
          exists: true,
          ready: "unavailable",
          reason: "Failed",
          message: `the backup manager says that backup ${id} has failed; make another Backup`,
          pollAfterMs: this.#restMs,
        });
      case "Deleted":
        return this.#observeGone(instanceId, id);
      case "Unknown":
        return state.observation({
          exists: true,
          ready: state.isDeleting ? "unavailable" : "unknown",
          message: `the backup manager says that backup ${id} is ${JSON.stringify(found.state)}, which is not known here`,
          pollAfterMs: unknownMs,
        });
    }
  }

  #observeGone(instanceId: string, id: number): Observation {
    const state = this.#state;
    state.showDeleted(instanceId, id);
    return state.observation({
      exists: !state.isDeleting,
      ready: "unavailable",
      reason: "Deleted",
      message: "the backup is gone at the backup manager (retention or by hand)",
    });
  }

  /** The existing provider made another one each minute once its own was gone, and never looked at them. */
  async #nameOthers(instanceId: string, id: number, options: CallOptions): Promise<void> {
    const { manager, claims, managed, notice } = this.#options;
    if (this.#state.otherId(id) === undefined) return;
    const bornAt = Date.parse(managed.metadata.creationTimestamp ?? "");
    const claimed = claims.others();
    const others = (await manager.listBackups(instanceId, options))
      .filter((item) => item.id !== id && !claimed.has(item.id) && phaseOf(item.state) !== "Deleted")
      .filter(({ triggeredAtMs = 0 }) => triggeredAtMs >= bornAt);
    if (others.length === 0) return;
    const numbers = others.slice(0, 20).map((item) => item.id);
    notice(
      `the backup is number ${id}; ${numbers.join(", ")} of the same instance are younger than this Backup, and nothing here looks after them`,
    );
  }

  #calls(instanceId: string): OnceCalls<FoundBackup> {
    const { manager } = this.#options;
    return {
      list: (options) => listOrNothing(() => manager.listBackups(instanceId, options)),
      find: findLostBackup,
      create: async (options) => (await manager.createBackup(instanceId, options)).backupId,
      isClearNo,
      obstacle: () => undefined,
    };
  }

  #inTurn<T>(instanceId: string, work: () => Promise<T>): Promise<T> {
    const { turns, applicant } = this.#options;
    return turns.take(applicant(instanceId), work, () => this.#state.call.isOpen);
  }

  /** Undefined: as anything of the kind that is at rest. */
  get #restMs(): number | undefined {
    return this.#state.isDeleting ? movingMs : undefined;
  }

  #instanceId(): string {
    const { managed, instances } = this.#options;
    const known = instanceIdOfBackup(managed);
    if (known !== undefined) return known;
    const { instanceName } = managed.spec.forProvider;
    const instance = onlyOne(managed, "instance", instanceName, instances());
    const { instanceId } = instance.status?.atProvider ?? {};
    if (instanceId === undefined) throw notYet(`the instance ${instanceName} is not made yet`);
    return instanceId;
  }
}
