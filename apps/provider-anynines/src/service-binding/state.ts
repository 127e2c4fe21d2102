/** Holds the state of one binding during a reconcile: from the managed resource, its critical annotations, and the broker. */
import {
  bindingGenerationsAnnotation,
  type ManagedServiceBinding,
  type ServiceBindingObservation,
  type ServiceInstance,
} from "@klutch/api";
import type { ConnectionDetails, CriticalAnnotationUpdate, Observation } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import type { Broker } from "../broker/brokers.ts";
import { maximumPollingSeconds } from "../broker/plan-lookup.ts";
import { connectionDetails } from "@klutch/services";
import { afterCall, toExternalError } from "../operations/answers.ts";
import { type Kind, Operations, operationSlot, pollOf } from "../operations/operations.ts";
import type { Operation } from "../records/operation.ts";
import { boundToChange, createdChange, CriticalAnnotations } from "../records/annotations.ts";
import { connectionOf, flattenCredentials } from "./connection.ts";
import type { RotationWish } from "./rotation/plan.ts";
import { bindingIdOf, type CredentialVersions, recordedVersions } from "../records/credential-versions.ts";

/** The readers and writers of the state. */
export interface BindingStateOptions {
  readonly managed: ManagedServiceBinding;
  readonly broker: Broker;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  readonly clock: Clock;
  /** The instance that the binding names. */
  readonly instance: () => ServiceInstance | undefined;
  /** Says that where its service is reached is not understood. */
  readonly notice: (message: string) => void;
}

/** The identifiers by which a broker finds the binding. */
export interface BindingRef {
  readonly instanceId: string;
  readonly bindingId: string;
  readonly serviceId: string;
  readonly planId: string;
}

/** Lives for one reconcile. What must outlive it is written to the critical annotations, and to the status by the reconciler. */
export class BindingState {
  readonly managed: ManagedServiceBinding;
  readonly annotations: CriticalAnnotations;
  /** The recorded operation at the broker. */
  readonly operations: Operations;
  readonly #options: Pick<BindingStateOptions, "instance" | "notice" | "broker">;
  #atProvider: ServiceBindingObservation;
  #connection: ConnectionDetails | undefined;

  constructor(options: BindingStateOptions) {
    const { managed, updateCriticalAnnotations, clock } = options;
    this.#options = options;
    this.managed = managed;
    this.annotations = new CriticalAnnotations(managed, updateCriticalAnnotations);
    // A record that cannot be read ends the reconcile before anything is asked.
    void this.versions;
    this.#atProvider = managed.status?.atProvider ?? { state: "Pending" };
    this.operations = new Operations({
      generation: managed.metadata.generation,
      clock,
      slot: operationSlot(managed, this.annotations),
      call: this.#poll,
      maxSeconds: (_record, call) => maximumPollingSeconds(options.broker, this.#atProvider.planID, call),
      afterCall,
      explain: toExternalError,
      also: ({ type }) => {
        if (type === "delete") return { done: {} };
        return { done: type === "create" ? createdChange(this.ref) : boundToChange(this.ref) };
      },
    });
  }

  readonly #poll: Kind["call"] = async (_call, { record }, options) => {
    const { serviceId, planId, ...ids } = this.ref;
    const plan = { serviceId: serviceId || undefined, planId: planId || undefined };
    return pollOf(
      await this.#options.broker.osb.lastOperation({ ...ids, operation: record?.key, ...plan }, options),
    );
  };

  get atProvider(): ServiceBindingObservation {
    return this.#atProvider;
  }

  /** Fresh from the broker, if this reconcile fetched them. */
  get connection(): ConnectionDetails | undefined {
    return this.#connection;
  }

  get operation(): Operation | undefined {
    return this.operations.current;
  }

  /** The broker made it, although the status may not say so. */
  get wasBound(): boolean {
    return this.annotations.boundTo !== undefined && this.#atProvider.state !== "Deleted";
  }

  /** True when a bind that failed, had no good answer, or was for another spec may have left something. */
  get hasLeftovers(): boolean {
    const { type, phase, discarded, generation } = this.operation ?? {};
    if (type !== "create") return type === "discard";
    return discarded !== true && (phase === "failed" || generation !== this.managed.metadata.generation);
  }

  get isDeleting(): boolean {
    return this.managed.metadata.deletionTimestamp !== undefined;
  }

  /** Its credential versions, as they are recorded now. */
  get versions(): CredentialVersions {
    return recordedVersions(this.annotations.get(bindingGenerationsAnnotation));
  }

  /** Rotation settings of the spec. */
  get wish(): RotationWish {
    return this.managed.spec.forProvider;
  }

  /** Identifiers of the current version. */
  get ref(): BindingRef {
    const { instanceId, serviceID, planID } = this.#atProvider;
    // A call whose answer was lost is known from its record only, and the status may not have been written after it.
    const known = this.operation?.instanceId === undefined ? this.annotations.boundTo : this.operation;
    return {
      instanceId: instanceId ?? known?.instanceId ?? "",
      bindingId: bindingIdOf(this.managed, this.versions.current),
      serviceId: serviceID ?? known?.serviceId ?? "",
      planId: planID ?? known?.planId ?? "",
    };
  }

  updateAtProvider(fields: Partial<ServiceBindingObservation>): void {
    this.#atProvider = { ...this.#atProvider, ...fields };
  }

  /** The broker made the binding and gave its credentials. */
  adopt(credentials: Readonly<Record<string, unknown>>): void {
    const flat = flattenCredentials(credentials);
    const { instance, notice } = this.#options;
    const { connection, problem } = connectionOf(this.managed, instance());
    if (problem !== undefined) notice(problem);
    this.#connection = flat;
    this.updateAtProvider({
      state: "Created",
      connectionDetails:
        connection === undefined
          ? (this.#atProvider.connectionDetails ?? [])
          : connectionDetails(connection, flat),
    });
  }

  /** The observation with the status as it is with a new state, and with the credentials, if they are known. */
  observation(
    finding: Omit<Observation, "upToDate"> & { readonly upToDate?: boolean | undefined },
    state: string,
  ): Observation {
    this.updateAtProvider({ state });
    return {
      ...finding,
      upToDate: finding.upToDate ?? false,
      connection: this.#connection,
      status: { atProvider: this.#atProvider },
    };
  }
}
