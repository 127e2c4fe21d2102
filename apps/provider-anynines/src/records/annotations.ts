/**
 * Annotations of a managed resource that the provider writes before it acts: the operation at the broker, the instance's identity, which
 * parameters it asked for, and since when the broker does not know the resource. Nothing else may edit them.
 */
import {
  type BackupUsage,
  backupUsageText,
  bindingCreatedAnnotation,
  bindingGenerationsAnnotation,
  type ManagedServiceBinding,
  missingAnnotation,
  type ServiceInstance,
  type Usage,
  usageAnnotation,
  usageText,
} from "@klutch/api";
import type { CriticalAnnotationUpdate, Managed } from "@klutch/crossplane";
import { isRecord } from "@klutch/kube-core";
import { operationAnnotation, type OperationTarget } from "./operation.ts";
import { derivedId, parsedJson } from "./values.ts";

/** Id at the broker: of an instance when it is not its UID any more, of a backup and a restore that of their instance. */
export const instanceIdAnnotation = "anynines.crossplane.io/instance-id";
/** On a Backup: the service of its instance, that is kind and version of what was backed up. */
export const serviceIdAnnotation = "anynines.crossplane.io/service-id";
/** Number of the backup at its backup manager. */
export const backupIdAnnotation = "anynines.crossplane.io/backup-id";
/** Number of the restore at its backup manager. */
export const restoreIdAnnotation = "anynines.crossplane.io/restore-id";
/** The end of a restore. After it, the provider sends no request for the restore. */
export const restoreEndAnnotation = "anynines.crossplane.io/restore-end";
/** On a ServiceBinding: what it was bound to at its broker, from the moment in which the broker had made it. */
export const boundToAnnotation = "anynines.crossplane.io/bound-to";
/** On a ServiceInstance: what was provisioned at its broker, from the moment in which the broker had made it. */
export const provisionedAsAnnotation = "anynines.crossplane.io/provisioned-as";
const formerInstanceIdAnnotation = "anynines.crossplane.io/former-instance-id";
const parametersAnnotation = "anynines.crossplane.io/sent-parameters";

/** Names of all of them. Writing one does not count as a change of the managed resource. */
export const criticalAnnotationNames: readonly string[] = [
  operationAnnotation,
  missingAnnotation,
  instanceIdAnnotation,
  formerInstanceIdAnnotation,
  parametersAnnotation,
  serviceIdAnnotation,
  backupIdAnnotation,
  restoreIdAnnotation,
  restoreEndAnnotation,
  bindingGenerationsAnnotation,
  bindingCreatedAnnotation,
  boundToAnnotation,
  provisionedAsAnnotation,
  usageAnnotation,
];

type Annotations = Readonly<Record<string, string | undefined>>;

/** Annotations to write; `undefined` removes one. */
export type AnnotationChanges = Annotations;

/** Since when the broker does not know the resource, and whether a later observation confirmed it. */
export interface Missing {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly confirmed: boolean;
}

/** Reads and writes the annotations of one managed resource during one reconcile. Writes only differences, and reads back its own writes. */
export class CriticalAnnotations {
  readonly #update: CriticalAnnotationUpdate;
  #annotations: Annotations;

  constructor(managed: Managed, updateCriticalAnnotations: CriticalAnnotationUpdate) {
    this.#annotations = managed.metadata.annotations ?? {};
    this.#update = updateCriticalAnnotations;
  }

  async write(changes: AnnotationChanges): Promise<void> {
    const differing = Object.entries(changes).filter(([name, value]) => this.#annotations[name] !== value);
    if (differing.length === 0) return;
    await this.#update(Object.fromEntries(differing));
    this.#annotations = { ...this.#annotations, ...changes };
  }

  get(annotation: string): string | undefined {
    return this.#annotations[annotation];
  }

  get missing(): Missing | undefined {
    return missingOf(this.#annotations);
  }

  get instanceId(): string | undefined {
    return this.#annotations[instanceIdAnnotation];
  }

  /** The instance and plan of the binding at the time when the broker made it. */
  get boundTo(): OperationTarget | undefined {
    return targetAt(this.#annotations, boundToAnnotation);
  }

  /** The service and plan with which the broker made the instance. */
  get provisionedAs(): OperationTarget | undefined {
    return provisionedAs(this.#annotations);
  }

  /** Names of the parameters that the broker may hold because we sent them. */
  get sentParameters(): readonly string[] {
    const value = parsedJson(this.#annotations[parametersAnnotation]);
    return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
  }
}

/** The instance's id at its broker. One that the existing provider chose stays; ours is the object's own or follows from it. */
export function instanceIdOf({ metadata, status }: ServiceInstance): string {
  return metadata.annotations?.[instanceIdAnnotation] ?? status?.atProvider?.instanceId ?? metadata.uid ?? "";
}

/** Returns the service and plan with which the broker made the instance. They belong to an earlier instance when the id differs. */
export function provisionedAs(annotations: Annotations | undefined): OperationTarget | undefined {
  return targetAt(annotations, provisionedAsAnnotation);
}

/** Since when the broker does not know a resource; also read from other resources, to count how many are missing. */
export function missingOf(annotations: Annotations | undefined): Missing | undefined {
  const value = parsedJson(annotations?.[missingAnnotation]);
  if (!isRecord(value) || typeof value["since"] !== "number") return undefined;
  return { since: value["since"], confirmed: value["confirmed"] === true };
}

export function missingChange(missing: Missing | undefined): AnnotationChanges {
  return { [missingAnnotation]: missing === undefined ? undefined : JSON.stringify(missing) };
}

/** The instance goes on under another id, which follows from the one before: a broker may refuse an id that it had once. */
export function nextInstanceChange(instanceId: string): AnnotationChanges {
  return {
    [instanceIdAnnotation]: derivedId(`${instanceId}/next`),
    [formerInstanceIdAnnotation]: instanceId,
    [parametersAnnotation]: undefined,
    ...missingChange(undefined),
  };
}

export function boundToChange({ instanceId, serviceId, planId }: OperationTarget): AnnotationChanges {
  return { [boundToAnnotation]: JSON.stringify({ instanceId, serviceId, planId }) };
}

/** A binding that the broker made; a Go provider that takes it over does not bind again. */
export function createdChange(target: OperationTarget): AnnotationChanges {
  return { ...boundToChange(target), [bindingCreatedAnnotation]: "true" };
}

export function provisionedAsChange({ instanceId, serviceId, planId }: OperationTarget): AnnotationChanges {
  return { [provisionedAsAnnotation]: JSON.stringify({ instanceId, serviceId, planId }) };
}

export function usageChange(usage: Usage): AnnotationChanges {
  return { [usageAnnotation]: usageText(usage) };
}

export function backupUsageChange(usage: BackupUsage): AnnotationChanges {
  return { [usageAnnotation]: backupUsageText(usage) };
}

export function sentParametersChange(names: Iterable<string>): AnnotationChanges {
  const sorted = [...new Set(names)].toSorted();
  return { [parametersAnnotation]: sorted.length === 0 ? undefined : JSON.stringify(sorted) };
}

function targetAt(annotations: Annotations | undefined, name: string): OperationTarget | undefined {
  const value = parsedJson(annotations?.[name]);
  if (!isRecord(value)) return undefined;
  const { instanceId, serviceId, planId } = value;
  const isTarget = [instanceId, serviceId, planId].every((id) => typeof id === "string");
  return isTarget ? value : undefined;
}

/** Annotations that this provider, the Go provider and its runtime write before and after they create. */
const traces = [
  operationAnnotation,
  boundToAnnotation,
  provisionedAsAnnotation,
  "crossplane.io/external-create-pending",
  "crossplane.io/external-create-succeeded",
  bindingCreatedAnnotation,
];

/** No call that could have made the instance was ever begun. */
export function wasNeverProvisioned(instance: ServiceInstance): boolean {
  const { state, serviceId } = instance.status?.atProvider ?? {};
  return state === undefined && serviceId === undefined && !hasTrace(instance);
}

/** No call that could have made the binding was ever begun. */
export function wasNeverBound(binding: ManagedServiceBinding): boolean {
  const { state = "Pending" } = binding.status?.atProvider ?? {};
  return state === "Pending" && !hasTrace(binding);
}

function hasTrace({ metadata }: Managed): boolean {
  return traces.some((name) => metadata.annotations?.[name] !== undefined);
}
