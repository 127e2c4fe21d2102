/** The request that goes over the wire for each verb, for a broker of one version: what it does not know is not sent. */
import { OsbTransportError } from "./errors.ts";
import { isHeaderToken } from "./header-value.ts";
import type {
  BindRequest,
  CallOptions,
  DeleteRequest,
  FetchOptions,
  PlanRef,
  PollRequest,
  ProvisionRequest,
  UpdateRequest,
} from "./requests.ts";
import type { BrokerRequest } from "./transport.ts";
import type { BindResource } from "./types.ts";
import { type Feature, firstVersionWith, hasFeature } from "./version.ts";

export function catalogWire(): BrokerRequest {
  return { method: "GET", path: "/v2/catalog" };
}

export function provisionWire(request: ProvisionRequest, version: string): BrokerRequest {
  return {
    method: "PUT",
    path: instancePath(request.instanceId),
    query: asyncQuery(request),
    body: {
      ...planBody(request),
      organization_guid: request.organizationGuid,
      space_guid: request.spaceGuid,
      parameters: request.parameters,
      context: request.context,
      maintenance_info: maintenance(request.maintenanceVersion, version),
    },
  };
}

export function updateWire(request: UpdateRequest, version: string): BrokerRequest {
  const { parameters, context, previous } = request;
  return {
    method: "PATCH",
    path: instancePath(request.instanceId),
    query: asyncQuery(request),
    body: {
      ...planBody(request),
      parameters,
      context,
      maintenance_info: maintenance(request.maintenanceVersion, version),
      previous_values:
        previous === undefined
          ? undefined
          : {
              plan_id: previous.planId,
              maintenance_info: maintenance(previous.maintenanceVersion, version),
            },
    },
  };
}

export function deprovisionWire(request: DeleteRequest): BrokerRequest {
  return {
    method: "DELETE",
    path: instancePath(request.instanceId),
    query: { ...asyncQuery(request), service_id: request.serviceId, plan_id: request.planId },
  };
}

export function fetchInstanceWire(
  instanceId: string,
  { plan }: FetchOptions,
  version: string,
): BrokerRequest {
  need("fetching", "fetching an instance", version);
  return { method: "GET", path: instancePath(instanceId), query: fetchHints(plan, version) };
}

export function bindWire(request: BindRequest, version: string): BrokerRequest {
  const { parameters, context, bindResource, predecessorBindingId } = request;
  if (predecessorBindingId !== undefined)
    need("bindingRotation", "a binding that follows another one", version);
  return {
    method: "PUT",
    path: bindingPath(request.instanceId, request.bindingId),
    query: bindingAsyncQuery(request, version),
    body: {
      ...planBody(request),
      // Some brokers still read it from where it was before `bind_resource`.
      app_guid: bindResource?.appGuid,
      bind_resource: bindResource === undefined ? undefined : bindResourceBody(bindResource),
      parameters,
      context,
      predecessor_binding_id: predecessorBindingId,
    },
  };
}

export function unbindWire(
  request: DeleteRequest & { readonly bindingId: string },
  version: string,
): BrokerRequest {
  const plan = { service_id: request.serviceId, plan_id: request.planId };
  return {
    method: "DELETE",
    path: bindingPath(request.instanceId, request.bindingId),
    query: { ...bindingAsyncQuery(request, version), ...plan },
  };
}

export function fetchBindingWire(
  ids: { readonly instanceId: string; readonly bindingId: string },
  { plan }: FetchOptions,
  version: string,
): BrokerRequest {
  need("fetching", "fetching a binding", version);
  return {
    method: "GET",
    path: bindingPath(ids.instanceId, ids.bindingId),
    query: fetchHints(plan, version),
  };
}

export function lastOperationWire(request: PollRequest, version: string): BrokerRequest {
  const { instanceId, bindingId, serviceId, planId, operation } = request;
  if (bindingId !== undefined) need("asynchronousBinding", "asking for the operation of a binding", version);
  const parent = bindingId === undefined ? instancePath(instanceId) : bindingPath(instanceId, bindingId);
  return {
    method: "GET",
    path: `${parent}/last_operation`,
    query: { service_id: serviceId, plan_id: planId, operation },
  };
}

/** Headers that say who asks and how the request is called. Throws `NotSent` for what no header can carry. */
export function identityHeaders(
  { identity }: CallOptions,
  requestIdentity: string,
  version: string,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (identity !== undefined) {
    const value = Buffer.from(JSON.stringify(identity.value) ?? "null").toString("base64");
    headers["x-broker-api-originating-identity"] =
      `${headerToken(identity.platform, "identity.platform")} ${value}`;
  }
  if (hasFeature(version, "requestIdentity"))
    headers["x-broker-api-request-identity"] = headerToken(requestIdentity, "requestIdentity");
  return headers;
}

function headerToken(text: string, name: string): string {
  if (isHeaderToken(text)) return text;
  throw new OsbTransportError("NotSent", `${name} must be visible ASCII characters without spaces`);
}

function need(feature: Feature, what: string, version: string): void {
  if (hasFeature(version, feature)) return;
  throw new OsbTransportError(
    "NotSent",
    `${what} needs version ${firstVersionWith(feature)} of the API, and the broker is spoken to in ${version}`,
  );
}

function instancePath(instanceId: string): string {
  return `/v2/service_instances/${encodeURIComponent(instanceId)}`;
}

function bindingPath(instanceId: string, bindingId: string): string {
  return `${instancePath(instanceId)}/service_bindings/${encodeURIComponent(bindingId)}`;
}

function planBody(plan: PlanRef): Readonly<Record<string, string>> {
  return { service_id: plan.serviceId, plan_id: plan.planId };
}

function asyncQuery(request: {
  readonly acceptsIncomplete?: boolean | undefined;
}): Readonly<Record<string, string>> {
  return request.acceptsIncomplete === false ? {} : { accepts_incomplete: "true" };
}

function bindingAsyncQuery(request: DeleteRequest, version: string): Readonly<Record<string, string>> {
  return hasFeature(version, "asynchronousBinding") ? asyncQuery(request) : {};
}

function fetchHints(plan: PlanRef | undefined, version: string): BrokerRequest["query"] {
  return plan !== undefined && hasFeature(version, "fetchingHints")
    ? { service_id: plan.serviceId, plan_id: plan.planId }
    : {};
}

function maintenance(of: string | undefined, version: string): { readonly version: string } | undefined {
  return of !== undefined && hasFeature(version, "maintenanceInfo") ? { version: of } : undefined;
}

function bindResourceBody({ appGuid, route, other }: BindResource): Readonly<Record<string, unknown>> {
  return { ...other, app_guid: appGuid, route };
}
