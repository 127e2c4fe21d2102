/** What is known of one instance during a pass: from the managed resource, from our notes, and from what the broker said since. */
import { type ServiceInstance, type ServiceInstanceObservation } from "@klutch/api";
import { wholeSeconds } from "@klutch/kube-core";
import type { Observation, Recorder } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { type NoteChanges, noteParameters, Notes } from "../critical-annotations.ts";
import type { BrokerOperation } from "../broker/operation.ts";
import { parameterChanges } from "./parameters.ts";

/** An observation without what `InstanceState` adds; `upToDate` is false unless said otherwise. */
export type Found = Omit<Observation, "upToDate" | "status"> & { readonly upToDate?: boolean | undefined };

/** Asks no broker: who uses it tells it what the broker said. */
export class InstanceState {
  readonly managed: ServiceInstance;
  readonly notes: Notes;
  readonly #clock: Clock;
  #instanceId: string;
  #atProvider: ServiceInstanceObservation;

  constructor(managed: ServiceInstance, record: Recorder, clock: Clock) {
    this.managed = managed;
    this.notes = new Notes(managed, record);
    this.#clock = clock;
    const present = managed.status?.atProvider ?? {};
    // An id that the existing provider chose stays; ours is the object's own or follows from it, so a crash cannot lose or double it.
    this.#instanceId = this.notes.instanceId ?? present.instanceId ?? managed.metadata.uid ?? "";
    // A status that speaks of the instance before this one says nothing about it.
    this.#atProvider = (present.instanceId ?? this.#instanceId) === this.#instanceId ? present : {};
  }

  get instanceId(): string {
    return this.#instanceId;
  }

  get atProvider(): ServiceInstanceObservation {
    return this.#atProvider;
  }

  get isDeleting(): boolean {
    return this.managed.metadata.deletionTimestamp !== undefined;
  }

  /** Whether the operation was started for the spec as it is now. */
  isOfNow(operation: BrokerOperation | undefined): boolean {
    return operation?.generation === this.managed.metadata.generation;
  }

  learn(fields: ServiceInstanceObservation): void {
    this.#atProvider = { ...this.#atProvider, ...fields };
  }

  /** The notes name another instance now; nothing is known of it. */
  beginAnew(): void {
    this.#instanceId = this.notes.instanceId ?? this.#instanceId;
    this.#atProvider = {};
  }

  /** Undefined when what was asked for is there, and what was taken back is not. */
  parameterChanges(): Readonly<Record<string, unknown>> | undefined {
    const { parameters: wanted } = this.managed.spec.forProvider;
    return parameterChanges({
      wanted,
      present: this.#atProvider.parameters,
      sent: this.notes.sentParameters,
    });
  }

  /** Before a call the broker may get the new names and hold the old ones; when it is done, it has the new ones only. */
  parameterNotes(): { readonly before: NoteChanges; readonly done: NoteChanges } {
    const wanted = Object.keys(this.managed.spec.forProvider.parameters ?? {});
    return {
      before: noteParameters([...this.notes.sentParameters, ...wanted]),
      done: noteParameters(wanted),
    };
  }

  /** The observation with the status as it is with a new state; its times move only when the state does. */
  observation(found: Found, state: string | undefined, pendingOperation?: string): Observation {
    const now = wholeSeconds(this.#clock.now());
    const present = this.#atProvider;
    const before = this.managed.status?.atProvider?.state;
    this.#atProvider = {
      ...present,
      state,
      instanceId: this.#instanceId,
      provisionedAt: state === "provisioned" ? (present.provisionedAt ?? now) : present.provisionedAt,
      createdAt: present.createdAt ?? (state === undefined ? undefined : now),
      updatedAt: state === before ? present.updatedAt : now,
    };
    const status = { atProvider: this.#atProvider, pendingOperation };
    return { ...found, upToDate: found.upToDate ?? false, status };
  }
}
