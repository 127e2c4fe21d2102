/** One bind, the same each time it is called for the same binding and version. */
import type { ManagedServiceBinding, ServiceBindingObservation, ServiceInstance } from "@klutch/api";
import type { CallOptions } from "@klutch/crossplane";
import {
  type BindOutcome,
  type BindRequest,
  type BindResource,
  isAppRequired,
  type OsbClient,
  OsbTransportError,
} from "@klutch/osb";
import { similarName } from "@klutch/kube-core";
import type { Broker } from "../broker/brokers.ts";
import { bindingContext, withContextHint } from "../broker/request-context.ts";
import { notYet } from "../claims/waiting.ts";
import type { BindingRef } from "./state.ts";

/**
 * `predecessor`: the id of the binding that this one follows (OSB 2.17 "predecessor_binding_id"); brokers of older versions are not told.
 * Brokers that bind applications only get the first binding's id as one, unless the spec names another: a claim has none.
 */
export async function bind(
  { osb, context: settings }: Pick<Broker, "osb" | "context">,
  managed: ManagedServiceBinding,
  ref: BindingRef,
  predecessor: string | undefined,
  options: CallOptions,
): Promise<BindOutcome> {
  const { parameters, acceptsIncomplete } = managed.spec.forProvider;
  const context = bindingContext(managed, settings);
  const bindResource = bindResourceOf(managed);
  const request = { ...ref, parameters, context, acceptsIncomplete, bindResource };
  const send = (sent: BindRequest): Promise<BindOutcome> =>
    withContextHint(managed, settings, () => bindAfter(osb, sent, predecessor, options));
  try {
    return await send(request);
  } catch (error) {
    if (!isAppRequired(error) || bindResource?.appGuid !== undefined) throw error;
    return send({ ...request, bindResource: { ...bindResource, appGuid: managed.metadata.uid } });
  }
}

async function bindAfter(
  osb: OsbClient,
  request: BindRequest,
  predecessorBindingId: string | undefined,
  options: CallOptions,
): Promise<BindOutcome> {
  if (predecessorBindingId === undefined) return osb.bind(request, options);
  try {
    return await osb.bind({ ...request, predecessorBindingId }, options);
  } catch (error) {
    const isOlder = error instanceof OsbTransportError && error.code === "NotSent";
    if (!isOlder) throw error;
    return osb.bind(request, options);
  }
}

/** Undefined when the spec names nothing. */
function bindResourceOf({ spec }: ManagedServiceBinding): BindResource | undefined {
  const { appGuid: known, bindResource } = spec.forProvider;
  const { appGuid = known, route } = bindResource ?? {};
  return appGuid === undefined && route === undefined ? undefined : { appGuid, route };
}

/** An instance that a binding names and that its namespace lacks. */
export interface MissingInstance {
  readonly instanceName: string;
  /** The words of the wait. */
  readonly message: string;
  /** A name beside it is so similar that the wait will most probably not end by itself. */
  readonly isMisspelled: boolean;
}

/** Describes it; `beside` as of `bindableInstance`. */
export function missingInstance({ spec }: ManagedServiceBinding, beside: readonly string[]): MissingInstance {
  const { instanceName } = spec.forProvider;
  // Not by its name: the developer knows the namespace by another one.
  const problem = `data service instance was not found: no instance ${instanceName} in the namespace of this binding`;
  const isMisspelled = similarName(instanceName, beside) !== undefined;
  return { instanceName, message: problem + hintFor(instanceName, beside), isMisspelled };
}

/**
 * The instance's ids at the broker. `beside`: names of the instances in the namespace of the binding's claim. Throws `NotYetError` until it is
 * provisioned, and once it is deleted.
 */
export function bindableInstance(
  binding: ManagedServiceBinding,
  instance: ServiceInstance | undefined,
  beside: readonly string[],
): Pick<ServiceBindingObservation, "instanceId" | "serviceID" | "planID"> {
  const { instanceName } = binding.spec.forProvider;
  if (instance === undefined) throw notYet(missingInstance(binding, beside).message);
  if (instance.metadata.deletionTimestamp !== undefined)
    throw notYet(`the instance ${instanceName} is being deleted`);
  const { instanceId, serviceId, planId, state } = instance.status?.atProvider ?? {};
  const known = instanceId !== undefined && serviceId !== undefined && planId !== undefined;
  if (!known || state !== "provisioned") throw notYet(`service instance is not ready: ${instanceName}`);
  return { instanceId, serviceID: serviceId, planID: planId };
}

function hintFor(instanceName: string, beside: readonly string[]): string {
  const meant = similarName(instanceName, beside);
  if (meant !== undefined)
    return `; there is ${meant}. If that is meant, delete this binding and create it again with instanceRef ${meant}`;
  const some = beside.slice(0, 5).join(", ");
  return some === "" ? "" : `; instances there: ${some}${beside.length > 5 ? ", …" : ""}`;
}
