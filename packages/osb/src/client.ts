/** The verbs of a service broker. Each takes the identifiers the caller chose, so repeating one after a crash is safe. */
import {
  decodeBind,
  brokerErrorOf,
  decodeBinding,
  decodeCatalog,
  decodeInstance,
  decodeLastOperation,
  decodeOutcome,
  optionalText,
  parseObject,
} from "./decode.ts";
import { isGone, OsbError } from "./errors.ts";
import { operationOf, type OsbOperation } from "./operation.ts";
import { type BrokerConfig, type BrokerRequest, type BrokerResponse, createTransport } from "./transport.ts";
import type {
  BindOutcome,
  Catalog,
  FetchedBinding,
  FetchedInstance,
  LastOperation,
  OriginatingIdentity,
  Outcome,
} from "./types.ts";

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly identity?: OriginatingIdentity | undefined;
}

/** Names the plan of an instance. */
export interface PlanRef {
  readonly serviceId: string;
  readonly planId: string;
}

/** What to provision. */
export interface ProvisionRequest extends PlanRef {
  readonly instanceId: string;
  readonly organizationGuid: string;
  readonly spaceGuid: string;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  /** Default true. */
  readonly acceptsIncomplete?: boolean | undefined;
}

/** What to change. */
export interface UpdateRequest extends PlanRef {
  readonly instanceId: string;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  readonly acceptsIncomplete?: boolean | undefined;
}

/** What to delete. */
export interface DeleteRequest extends PlanRef {
  readonly instanceId: string;
  readonly acceptsIncomplete?: boolean | undefined;
}

/** What to bind. */
export interface BindRequest extends DeleteRequest {
  readonly bindingId: string;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
  readonly context?: Readonly<Record<string, unknown>> | undefined;
}

/** Which operation to ask for. */
export interface PollRequest {
  readonly serviceId?: string | undefined;
  readonly planId?: string | undefined;
  readonly instanceId: string;
  readonly bindingId?: string | undefined;
  readonly operation?: string | undefined;
}

/** One broker. Methods throw `OsbError` for an error answer and `OsbTransportError` for none that can be used. */
export interface OsbClient extends AsyncDisposable {
  catalog(options?: CallOptions): Promise<Catalog>;
  provision(request: ProvisionRequest, options?: CallOptions): Promise<Outcome>;
  update(request: UpdateRequest, options?: CallOptions): Promise<Outcome>;
  /** 410 counts as done: it is gone. */
  deprovision(request: DeleteRequest, options?: CallOptions): Promise<Outcome>;
  fetchInstance(instanceId: string, options?: CallOptions): Promise<FetchedInstance>;
  bind(request: BindRequest, options?: CallOptions): Promise<BindOutcome>;
  /** 410 counts as done: it is gone. */
  unbind(request: BindRequest, options?: CallOptions): Promise<Outcome>;
  fetchBinding(instanceId: string, bindingId: string, options?: CallOptions): Promise<FetchedBinding>;
  /** 410 while deleting means it is gone; it is thrown as `OsbError`, see `isGone`. */
  lastOperation(request: PollRequest, options?: CallOptions): Promise<LastOperation>;
  /** Any path that answers for health: 2xx or not. */
  checkHealth(path: string, options?: CallOptions): Promise<void>;
}

/** Called for each request: which verb, the status of the answer or undefined when none came, and how long it took. */
export type ObserveCall = (operation: OsbOperation, status: number | undefined, tookMs: number) => void;

/** A client of the broker; connections are kept until it is disposed. */
export function createOsbClient(config: BrokerConfig, observe: ObserveCall = () => undefined): OsbClient {
  const transport = createTransport(config);
  const call = async (wire: BrokerRequest, options: CallOptions = {}): Promise<BrokerResponse> => {
    const headers = identityHeader(options.identity);
    const startedAt = performance.now();
    let status: number | undefined;
    let response: BrokerResponse;
    try {
      response = await transport.send({ ...wire, signal: options.signal, headers });
      ({ status } = response);
    } finally {
      observe(operationOf(wire.method, wire.path), status, performance.now() - startedAt);
    }
    if (response.status >= 200 && response.status < 300) return response;
    throw errorOf(response, `${wire.method} ${wire.path}`);
  };
  return {
    async catalog(options) {
      const response = await call({ method: "GET", path: "/v2/catalog" }, options);
      return decodeCatalog(parseObject(response.text, "GET /v2/catalog"), "GET /v2/catalog");
    },
    ...instanceVerbs(call),
    ...bindingVerbs(call),
    async lastOperation(request, options) {
      const parent =
        request.bindingId === undefined
          ? instancePath(request.instanceId)
          : bindingPath(request.instanceId, request.bindingId);
      const path = `${parent}/last_operation`;
      const query = { service_id: request.serviceId, plan_id: request.planId, operation: request.operation };
      const { text, retryAfterMs } = await call({ method: "GET", path, query }, options);
      return decodeLastOperation(parseObject(text, `GET ${path}`), `GET ${path}`, retryAfterMs);
    },
    async checkHealth(path, options) {
      await call({ method: "GET", path: path.startsWith("/") ? path : `/${path}` }, options);
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

type Call = (wire: BrokerRequest, options?: CallOptions) => Promise<BrokerResponse>;

function instanceVerbs(
  call: Call,
): Pick<OsbClient, "provision" | "update" | "deprovision" | "fetchInstance"> {
  return {
    async provision(request, options) {
      const wire: BrokerRequest = {
        method: "PUT",
        path: instancePath(request.instanceId),
        query: asyncQuery(request),
        body: {
          ...planBody(request),
          organization_guid: request.organizationGuid,
          space_guid: request.spaceGuid,
          parameters: request.parameters,
          context: request.context,
        },
      };
      return outcome(wire, await call(wire, options));
    },
    async update(request, options) {
      const { parameters, context } = request;
      const wire: BrokerRequest = {
        method: "PATCH",
        path: instancePath(request.instanceId),
        query: asyncQuery(request),
        body: { ...planBody(request), parameters, context },
      };
      return outcome(wire, await call(wire, options));
    },
    deprovision: (request, options) => remove(call, instancePath(request.instanceId), request, options),
    async fetchInstance(instanceId, options) {
      const path = instancePath(instanceId);
      return decodeInstance(parseObject((await call({ method: "GET", path }, options)).text, `GET ${path}`));
    },
  };
}

function bindingVerbs(call: Call): Pick<OsbClient, "bind" | "unbind" | "fetchBinding"> {
  return {
    async bind(request, options) {
      const path = bindingPath(request.instanceId, request.bindingId);
      const { parameters, context } = request;
      const body = { ...planBody(request), parameters, context };
      const response = await call({ method: "PUT", path, query: asyncQuery(request), body }, options);
      const action = `PUT ${path}`;
      return decodeBind(response.status, parseObject(response.text, action), action, response.retryAfterMs);
    },
    unbind: (request, options) =>
      remove(call, bindingPath(request.instanceId, request.bindingId), request, options),
    async fetchBinding(instanceId, bindingId, options) {
      const path = bindingPath(instanceId, bindingId);
      return decodeBinding(parseObject((await call({ method: "GET", path }, options)).text, `GET ${path}`));
    },
  };
}

async function remove(
  call: Call,
  path: string,
  request: DeleteRequest,
  options: CallOptions | undefined,
): Promise<Outcome> {
  const query = { ...asyncQuery(request), service_id: request.serviceId, plan_id: request.planId };
  const wire: BrokerRequest = { method: "DELETE", path, query };
  try {
    return outcome(wire, await call(wire, options));
  } catch (error) {
    if (isGone(error) && error.status === 410) return { kind: "done" };
    throw error;
  }
}

function outcome(wire: BrokerRequest, response: BrokerResponse): Outcome {
  const action = `${wire.method} ${wire.path}`;
  return decodeOutcome(response.status, parseObject(response.text, action), action, response.retryAfterMs);
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

function identityHeader(identity: OriginatingIdentity | undefined): Readonly<Record<string, string>> {
  if (identity === undefined) return {};
  const value = Buffer.from(JSON.stringify(identity.value)).toString("base64");
  return { "x-broker-api-originating-identity": `${identity.platform} ${value}` };
}

function errorOf(response: BrokerResponse, action: string): OsbError {
  // An HTML page of a proxy is not for people's conditions.
  const body = brokerErrorOf(response.text);
  return new OsbError({
    status: response.status,
    error: optionalText(body ?? {}, "error"),
    description: optionalText(body ?? {}, "description"),
    own: body !== undefined && isJson(response.contentType),
    action,
    retryAfterMs: response.retryAfterMs,
  });
}

function isJson(contentType: string): boolean {
  return contentType === "application/json" || contentType.endsWith("+json");
}
