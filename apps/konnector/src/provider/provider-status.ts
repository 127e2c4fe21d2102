/** Conditions that hold for all bindings to one provider: reported on each of them, also on later ones. */
import type { NewCondition } from "@klutch/kube-core";
import type { BindingStatus } from "../controllers/binding-status/binding-status.ts";

/** Reports to all bindings of one provider, also of one that joins later. */
export class ProviderStatus {
  readonly #status: BindingStatus;
  #bindings: readonly string[] = [];
  /** By condition type. */
  readonly #conditions = new Map<string, NewCondition>();
  #prettyName: string | undefined;

  constructor(status: BindingStatus) {
    this.#status = status;
  }

  /** Keys of the bindings to this provider. */
  get bindings(): readonly string[] {
    return this.#bindings;
  }

  setBindings(keys: readonly string[]): void {
    this.#bindings = keys;
    for (const condition of this.#conditions.values()) this.report(condition);
    if (this.#prettyName !== undefined) this.reportPrettyName(this.#prettyName);
  }

  report(condition: NewCondition): void {
    this.#conditions.set(condition.type, condition);
    for (const key of this.#bindings) this.#status.report(key, condition);
  }

  /** The provider took a heartbeat at this time, in milliseconds since the epoch. */
  reportHeartbeat(nowMs: number): void {
    for (const key of this.#bindings) this.#status.reportHeartbeat(key, nowMs);
  }

  /** Name that the provider gives itself. */
  reportPrettyName(prettyName: string): void {
    this.#prettyName = prettyName;
    for (const key of this.#bindings) this.#status.reportPrettyName(key, prettyName);
  }
}
