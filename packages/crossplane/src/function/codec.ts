/** Between protobuf messages and plain objects. */
import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import {
  Capability,
  Ready,
  type RequirementsSchema,
  type RunFunctionRequest,
  type RunFunctionResponse,
  RunFunctionResponseSchema,
  Severity,
  Status,
  Target,
} from "../gen/run_function_pb.js";
import type {
  ComposeRequest,
  ComposeResponse,
  ComposeResult,
  DesiredResource,
  Json,
  ObservedResource,
  RequiredResources,
} from "./types.ts";

/** Time for which Crossplane may reuse an answer. It is also the interval at which a composite without events is reconciled again. */
const answerTtlSeconds = 60n;

/** Reads a request; `now` is in milliseconds since the epoch. */
export function decodeRequest(request: RunFunctionRequest, now: number): ComposeRequest {
  const observed: Record<string, ObservedResource> = {};
  for (const [name, { resource, connectionDetails }] of Object.entries(request.observed?.resources ?? {})) {
    observed[name] = { resource: resource ?? {}, connection: connectionDetails };
  }
  const required = Object.entries({ ...request.extraResources, ...request.requiredResources }).map(
    ([name, { items }]) => [name, items.map(({ resource }) => resource ?? {})] as const,
  );
  return {
    composite: request.observed?.composite?.resource ?? {},
    observed,
    input: request.input,
    required: Object.fromEntries(required),
    now,
  };
}

/** Writes an answer; what earlier steps of the pipeline want is kept. */
export function encodeResponse(request: RunFunctionRequest, answer: ComposeResponse): RunFunctionResponse {
  const fatal = answer.results?.some(({ severity }) => severity === "fatal") === true;
  return create(RunFunctionResponseSchema, {
    meta: { tag: request.meta?.tag ?? "", ttl: { seconds: answerTtlSeconds, nanos: 0 } },
    ...(request.context === undefined ? {} : { context: request.context }),
    desired: fatal ? desiredBefore(request) : merged(request, answer),
    ...(answer.required === undefined ? {} : { requirements: encodeRequired(request, answer.required) }),
    results: (answer.results ?? []).map(encodeResult),
    conditions: (answer.conditions ?? []).map(({ type, status, reason, message }) => ({
      type,
      reason,
      status: statuses[status],
      target: Target.COMPOSITE_AND_CLAIM,
      ...(message === undefined ? {} : { message }),
    })),
  });
}

const statuses = {
  True: Status.CONDITION_TRUE,
  False: Status.CONDITION_FALSE,
  Unknown: Status.CONDITION_UNKNOWN,
} as const;
const severities = { fatal: Severity.FATAL, warning: Severity.WARNING, normal: Severity.NORMAL } as const;

function encodeResult({ severity, reason, message }: ComposeResult): {
  severity: Severity;
  reason?: string;
  message: string;
  target: Target;
} {
  const result = { severity: severities[severity], message, target: Target.COMPOSITE_AND_CLAIM };
  return reason === undefined ? result : { ...result, reason };
}

/** A Crossplane that does not announce the newer field may know the older one only. */
function encodeRequired(
  { meta }: RunFunctionRequest,
  required: Readonly<Record<string, RequiredResources>>,
): MessageInitShape<typeof RequirementsSchema> {
  const selectors = Object.entries(required).map(([name, { apiVersion, kind, matchLabels }]) => {
    if (Object.keys(matchLabels).length === 0)
      throw new Error(`the requirement ${name} has no label: it would be all objects of the kind ${kind}`);
    return [name, { apiVersion, kind, matchLabels: { labels: matchLabels } }] as const;
  });
  const resources = Object.fromEntries(selectors);
  return meta?.capabilities.includes(Capability.REQUIRED_RESOURCES) === true
    ? { resources }
    : { extraResources: resources };
}

type Desired = NonNullable<RunFunctionRequest["desired"]>;

function desiredBefore(request: RunFunctionRequest): Omit<Desired, "$typeName" | "$unknown"> {
  const { composite, resources = {} } = request.desired ?? {};
  return composite === undefined ? { resources } : { resources, composite };
}

function merged(
  request: RunFunctionRequest,
  answer: ComposeResponse,
): NonNullable<MessageInitShape<typeof RunFunctionResponseSchema>["desired"]> {
  const before = desiredBefore(request);
  const resources = Object.entries(answer.resources).map(
    ([name, desired]) => [name, encodeDesired(desired)] as const,
  );
  const status = answer.compositeStatus;
  return {
    resources: { ...before.resources, ...Object.fromEntries(resources) },
    composite: {
      resource: toJson({ ...before.composite?.resource, ...(status === undefined ? {} : { status }) }),
      connectionDetails: { ...before.composite?.connectionDetails, ...answer.connection },
      ready: answer.isReady === false ? Ready.FALSE : (before.composite?.ready ?? Ready.UNSPECIFIED),
    },
  };
}

function encodeDesired(desired: DesiredResource): { resource: JsonObject; ready: Ready } {
  return { resource: toJson(desired.resource), ready: desired.ready ? Ready.TRUE : Ready.FALSE };
}

/** A copy that surely is JSON: fields that are undefined are gone. */
function toJson(value: Json): JsonObject {
  const copy: JsonObject = JSON.parse(JSON.stringify(value)) as JsonObject;
  return copy;
}
