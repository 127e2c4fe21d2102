/** Holds the state of one instance during a reconcile: from the managed resource, its critical annotations, and the broker. */
import {
  nextMeasurement,
  recordedPlanOf,
  type ServiceInstance,
  type ServiceInstanceObservation,
  toldBy,
  type Usage,
  usageAnnotation,
  type UsedPlan,
  usageAsked,
  usageBegun,
  usageEnded,
  usageOf,
  usedPlanOf,
} from "@klutch/api";
import type { CriticalAnnotationUpdate, Observation } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { wholeSeconds } from "@klutch/kube-core";
import type { Broker } from "../broker/brokers.ts";
import { type MadeInstance, maximumPollingSeconds, type PlanIds } from "../broker/plan-lookup.ts";
import { afterCall, toExternalError } from "../operations/answers.ts";
import { type Also, Operations, operationSlot, pollOf } from "../operations/operations.ts";
import type { Operation } from "../records/operation.ts";
import {
  type AnnotationChanges,
  CriticalAnnotations,
  instanceIdOf,
  nextInstanceChange,
  provisionedAsChange,
  sentParametersChange,
  usageChange,
} from "../records/annotations.ts";
import { parameterChanges } from "./requests.ts";

/** An observation without what `InstanceState` adds; `upToDate` is false unless said otherwise. */
export type Finding = Omit<Observation, "upToDate" | "status"> & { readonly upToDate?: boolean | undefined };

/** The readers and writers of the state. */
export interface InstanceStateOptions {
  readonly managed: ServiceInstance;
  readonly broker: Broker;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  readonly clock: Clock;
}

/** Lives for one reconcile. What must outlive it is written to the critical annotations, and to the status by the reconciler. */
export class InstanceState {
  readonly managed: ServiceInstance;
  readonly annotations: CriticalAnnotations;
  /** The recorded operation at the broker. */
  readonly operations: Operations;
  readonly #clock: Clock;
  #instanceId: string;
  #atProvider: ServiceInstanceObservation;

  constructor({ managed, broker, updateCriticalAnnotations, clock }: InstanceStateOptions) {
    this.managed = managed;
    this.annotations = new CriticalAnnotations(managed, updateCriticalAnnotations);
    this.#clock = clock;
    this.operations = new Operations({
      generation: managed.metadata.generation,
      clock,
      slot: operationSlot(managed, this.annotations),
      call: async (_poll, { record }, options) => {
        const request = { instanceId: this.instanceId, operation: record?.key, ...this.planIds() };
        return pollOf(await broker.osb.lastOperation(request, options));
      },
      maxSeconds: (_record, options) => maximumPollingSeconds(broker, this.planIds().planId, options),
      afterCall,
      explain: toExternalError,
      also: (record) => this.#ended(record),
    });
    const present = managed.status?.atProvider ?? {};
    this.#instanceId = instanceIdOf(managed);
    // A status that speaks of the instance before this one says nothing about it.
    this.#atProvider = (present.instanceId ?? this.#instanceId) === this.#instanceId ? present : {};
  }

  get instanceId(): string {
    return this.#instanceId;
  }

  get atProvider(): ServiceInstanceObservation {
    return this.#atProvider;
  }

  get operation(): Operation | undefined {
    return this.operations.current;
  }

  get isDeleting(): boolean {
    return this.managed.metadata.deletionTimestamp !== undefined;
  }

  /** The broker made it, although the status may not say so. */
  get wasProvisioned(): boolean {
    const { instanceId } = this.annotations.provisionedAs ?? {};
    return instanceId === this.#instanceId && this.#atProvider.state !== "deleted";
  }

  /** True when the recorded operation was started for the current spec. */
  get isOperationCurrent(): boolean {
    return this.operation?.generation === this.managed.metadata.generation;
  }

  /**
   * Whether a create that failed, that had no good answer, or whose answer was lost before the spec changed, may have left something:
   * the broker refuses to make another thing of it. Never what was once in use.
   */
  get hasLeftovers(): boolean {
    const { operation } = this;
    if (this.#atProvider.provisionedAt !== undefined) return false;
    // A provider that did not record operations left only this state of a failed provision.
    if (operation === undefined) return this.#atProvider.state === "failed";
    if (operation.type !== "create") return operation.type === "discard";
    return operation.discarded !== true && (operation.phase === "failed" || !this.isOperationCurrent);
  }

  /** Plan of the instance that exists or was asked for; the spec may already name another one. */
  planIds(): Partial<PlanIds> {
    const { operation } = this;
    const known =
      this.#atProvider.serviceId === undefined ? this.annotations.provisionedAs : this.#atProvider;
    const { serviceId, planId } = (operation?.serviceId === undefined ? known : operation) ?? {};
    return { ...(serviceId === undefined ? {} : { serviceId }), ...(planId === undefined ? {} : { planId }) };
  }

  /** The plan and broker that the instance has by its record. */
  get recordedPlan(): UsedPlan | undefined {
    return recordedPlanOf(this.#withUsage);
  }

  /** The instance as the broker has it, and whether its spec names that by record. */
  get made(): MadeInstance {
    const { serviceId, planId } = this.#atProvider;
    const recorded = this.recordedPlan;
    const { service, plan } = usedPlanOf(this.managed);
    const isAsMade =
      recorded === undefined ? undefined : recorded.service === service && recorded.plan === plan;
    return { ids: { serviceId, planId }, isAsMade };
  }

  updateAtProvider(fields: ServiceInstanceObservation): void {
    this.#atProvider = { ...this.#atProvider, ...fields };
  }

  /** Takes over size and last session from the attributes of the broker's answer, seldom (`nextMeasurement`). */
  measure(attributes: unknown): void {
    const now = this.#clock.now();
    // An instance that was not ready before exists since now, as far as Klutch knows.
    const { measured: known, provisionedAt: since = wholeSeconds(now) } = this.#atProvider;
    const told = toldBy(attributes, { now, since });
    const measured = nextMeasurement(known, told, { now, instanceId: this.#instanceId });
    if (measured !== known) this.updateAtProvider({ measured });
  }

  /** The critical annotations name another instance now; nothing is known of it. */
  startNextInstance(): void {
    this.#instanceId = this.annotations.instanceId ?? this.#instanceId;
    this.#atProvider = {};
  }

  /** Returns the parameters to send; undefined when the instance has them as the spec wants them. */
  parameterChanges(): Readonly<Record<string, unknown>> | undefined {
    const { parameters: wanted } = this.managed.spec.forProvider;
    return parameterChanges({
      wanted,
      present: this.#atProvider.parameters,
      sent: this.annotations.sentParameters,
    });
  }

  /** Written with the end of an operation that took a while. */
  #ended({ type, generation }: Operation): Also {
    const isCurrent = generation === this.managed.metadata.generation && type !== "delete";
    const sent = isCurrent ? this.sentParameters().done : {};
    // Enough to delete the instance, although the status may never be written.
    const made = provisionedAsChange({ instanceId: this.#instanceId, ...this.planIds() });
    return {
      done: {
        ...sent,
        ...(type === "create" ? made : {}),
        ...(type === "delete" ? this.usageEnd() : this.usageBegin()),
      },
      discarded: nextInstanceChange(this.#instanceId),
    };
  }

  /**
   * Written before a create or a change: the plan that is asked for. `present`: name of the plan before a change, for an instance that has no record
   * yet and whose spec names the next plan already.
   */
  usageAsk(present?: string): AnnotationChanges {
    const usage = this.#usage;
    const isRecorded = this.annotations.get(usageAnnotation) !== undefined;
    const { open } = usage;
    const known =
      isRecorded || open === undefined || present === undefined
        ? usage
        : { ...usage, open: { ...open, plan: present } };
    return usageChange(usageAsked(known, usedPlanOf(this.managed)));
  }

  /** Written when it succeeded. */
  usageBegin(): AnnotationChanges {
    return usageChange(usageBegun(this.#usage, usedPlanOf(this.managed), this.#clock.now()));
  }

  /** Written when the instance is gone: now, or since its broker does not know it. */
  usageEnd(): AnnotationChanges {
    const usage = this.#usage;
    const isUsed = usage.open !== undefined || usage.closed.length > 0;
    return isUsed ? usageChange(usageEnded(usage, this.annotations.missing?.since ?? this.#clock.now())) : {};
  }

  get #usage(): Usage {
    return usageOf(this.#withUsage);
  }

  /** The managed resource with its usage as it was last written in this reconcile. */
  get #withUsage(): ServiceInstance {
    const annotations = { ...this.managed.metadata.annotations };
    const text = this.annotations.get(usageAnnotation);
    if (text !== undefined) annotations[usageAnnotation] = text;
    return { ...this.managed, metadata: { ...this.managed.metadata, annotations } };
  }

  /** Before a call the broker may get the new names and hold the old ones; when it is done, it has the new ones only, else the old. */
  sentParameters(): Readonly<Record<"before" | "done" | "refused", AnnotationChanges>> {
    const wanted = Object.keys(this.managed.spec.forProvider.parameters ?? {});
    const { sentParameters: sent } = this.annotations;
    return {
      before: sentParametersChange([...sent, ...wanted]),
      done: sentParametersChange(wanted),
      refused: sentParametersChange(sent),
    };
  }

  /** The observation with the status as it is with a new state; its times move only when the state does. */
  observation(finding: Finding, state: string | undefined, pendingOperation?: string): Observation {
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
    return { ...finding, upToDate: finding.upToDate ?? false, status };
  }
}
