/** The verbs of a service broker. Each takes the identifiers the caller chose, so repeating one after a crash is safe. */
import { randomUUID } from "node:crypto";
import { type Clean, type HttpResponse, isJsonType } from "@klutch/http-client";
import { inSpan } from "@klutch/telemetry";
import {
  checkCreated,
  decodeBind,
  decodeBinding,
  decodeCatalog,
  decodeError,
  decodeInstance,
  decodeLastOperation,
  decodeOutcome,
  parseObject,
} from "./decode.ts";
import { isGone, OsbError, OsbTransportError } from "./errors.ts";
import type { Json } from "./json.ts";
import { operationOf, type OsbOperation } from "./operation.ts";
import type {
  BindRequest,
  CallOptions,
  DeleteRequest,
  FetchOptions,
  PollRequest,
  ProvisionRequest,
  UpdateRequest,
} from "./requests.ts";
import { type BrokerConfig, type BrokerRequest, type BrokerTransport, createTransport } from "./transport.ts";
import type {
  BindOutcome,
  Catalog,
  FetchedBinding,
  FetchedInstance,
  LastOperation,
  Outcome,
} from "./types.ts";
import {
  bindWire,
  catalogWire,
  deprovisionWire,
  fetchBindingWire,
  fetchInstanceWire,
  identityHeaders,
  lastOperationWire,
  provisionWire,
  unbindWire,
  updateWire,
} from "./wire.ts";

/** Client of one broker. Methods throw `OsbError` for an error answer and `OsbTransportError` for an unusable one. */
export interface OsbClient extends AsyncDisposable {
  catalog(options?: CallOptions): Promise<Catalog>;
  provision(request: ProvisionRequest, options?: CallOptions): Promise<Outcome>;
  update(request: UpdateRequest, options?: CallOptions): Promise<Outcome>;
  /** 410 counts as done: it is gone. */
  deprovision(request: DeleteRequest, options?: CallOptions): Promise<Outcome>;
  /** Throws `NotSent` at brokers before 2.14. */
  fetchInstance(instanceId: string, options?: FetchOptions): Promise<FetchedInstance>;
  bind(request: BindRequest, options?: CallOptions): Promise<BindOutcome>;
  /** 410 counts as done: it is gone. */
  unbind(request: BindRequest, options?: CallOptions): Promise<Outcome>;
  /** Throws `NotSent` at brokers before 2.14. */
  fetchBinding(instanceId: string, bindingId: string, options?: FetchOptions): Promise<FetchedBinding>;
  /**
   * 410 while deleting means it is gone; it is thrown as `OsbError`, see `isGone`. Throws `NotSent` for a binding at brokers
   * before 2.14, which have no operations on bindings that take time.
   */
  lastOperation(request: PollRequest, options?: CallOptions): Promise<LastOperation>;
  /** Any path that answers for health: 2xx or not. */
  checkHealth(path: string, options?: CallOptions): Promise<void>;
}

/** Called for each request: which verb, the status of the answer or undefined when none came, and how long it took. */
export type ObserveCall = (operation: OsbOperation, status: number | undefined, tookMs: number) => void;

/** Sources of time and request names. */
export interface ClientSources {
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  /** A new `X-Broker-API-Request-Identity`. */
  readonly newRequestIdentity: () => string;
}

const realSources: ClientSources = { now: () => performance.now(), newRequestIdentity: randomUUID };

/**
 * A client of the broker; connections, the access token and the version that was agreed on are kept until it is disposed.
 * Throws `OsbTransportError` `NotSent` when the configuration cannot work.
 */
export function createOsbClient(
  config: BrokerConfig,
  observe: ObserveCall = () => undefined,
  sources: ClientSources = realSources,
): OsbClient {
  const transport = createTransport(config, {
    now: sources.now,
    observe: ({ method, path }, status, tookMs) => observe(operationOf(method, path), status, tookMs),
  });
  const call = callerOf(transport, sources);
  return {
    async catalog(options) {
      const { text, action } = await call(catalogWire, options);
      return decodeCatalog(parseObject(text, action), action);
    },
    ...instanceVerbs(call),
    ...bindingVerbs(call),
    async lastOperation(request, options) {
      const answer = await call((version) => lastOperationWire(request, version), options);
      const { text, action, retryAfterMs } = answer;
      return decodeLastOperation(parseObject(text, action), action, retryAfterMs, transport.clean);
    },
    async checkHealth(path, options) {
      await call(() => ({ method: "GET", path: path.startsWith("/") ? path : `/${path}` }), options);
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

/**
 * Reads a broker's catalog as it is, for readers of its schemas of parameters; `OsbClient.catalog` has no such. The object is
 * unchecked and a stranger's. Throws as the client does.
 */
export async function fetchCatalogDocument(config: BrokerConfig, options: CallOptions = {}): Promise<Json> {
  await using transport = createTransport(config, { now: realSources.now, observe: () => undefined });
  const { text, action } = await callerOf(transport, realSources)(catalogWire, options);
  return parseObject(text, action);
}

interface Answer extends HttpResponse {
  /** Method and path, for errors. */
  readonly action: string;
}

/** Sends, and throws `OsbError` for any answer but 2xx. */
type Call = (build: (version: string) => BrokerRequest, options?: CallOptions) => Promise<Answer>;

function callerOf(transport: BrokerTransport, { newRequestIdentity }: ClientSources): Call {
  return async (build, options = {}) => {
    const requestIdentity = options.requestIdentity ?? newRequestIdentity();
    let action = "";
    // Nothing of the trace goes to the broker: it is a stranger.
    const response = await inSpan({ name: "broker", kind: "client" }, (scope) =>
      transport.send((version) => {
        const wire = build(version);
        action = `${wire.method} ${wire.path}`;
        scope?.set({
          "osb.operation": operationOf(wire.method, wire.path),
          "osb.request_identity": requestIdentity,
        });
        return { ...wire, headers: identityHeaders(options, requestIdentity, version) };
      }, options.signal),
    );
    if (response.status >= 200 && response.status < 300) return { ...response, action };
    throw errorOf(response, action, requestIdentity, transport.clean);
  };
}

function instanceVerbs(
  call: Call,
): Pick<OsbClient, "provision" | "update" | "deprovision" | "fetchInstance"> {
  return {
    provision: async (request, options) => {
      const answer = await call((version) => provisionWire(request, version), options);
      return created(answer, () => outcomeOf(answer));
    },
    update: async (request, options) =>
      outcomeOf(await call((version) => updateWire(request, version), options)),
    deprovision: (request, options) => removed(call(() => deprovisionWire(request), options)),
    async fetchInstance(instanceId, options = {}) {
      const wire = (version: string): BrokerRequest => fetchInstanceWire(instanceId, options, version);
      const { text, action } = await call(wire, options);
      return decodeInstance(parseObject(text, action));
    },
  };
}

function bindingVerbs(call: Call): Pick<OsbClient, "bind" | "unbind" | "fetchBinding"> {
  return {
    async bind(request, options) {
      const answer = await call((version) => bindWire(request, version), options);
      const { status, text, action, retryAfterMs } = answer;
      return created(answer, () => decodeBind(status, parseObject(text, action), action, retryAfterMs));
    },
    unbind: (request, options) => removed(call((version) => unbindWire(request, version), options)),
    async fetchBinding(instanceId, bindingId, options = {}) {
      const ids = { instanceId, bindingId };
      const wire = (version: string): BrokerRequest => fetchBindingWire(ids, options, version);
      const { text, action } = await call(wire, options);
      return decodeBinding(parseObject(text, action));
    },
  };
}

/** Decodes the answer to a create: after an unusable one, its status also decides whether the broker may hold an orphan. */
function created<T>({ status, action }: Answer, decode: () => T): T {
  try {
    checkCreated(status, action);
    return decode();
  } catch (error) {
    if (!(error instanceof OsbTransportError)) throw error;
    throw new OsbTransportError(error.code, error.message, status);
  }
}

async function removed(answer: Promise<Answer>): Promise<Outcome> {
  try {
    return outcomeOf(await answer);
  } catch (error) {
    if (isGone(error) && error.status === 410) return { kind: "done" };
    throw error;
  }
}

function outcomeOf({ status, text, action, retryAfterMs }: Answer): Outcome {
  return decodeOutcome(status, parseObject(text, action), action, retryAfterMs);
}

function errorOf(
  { status, text, contentType, retryAfterMs }: HttpResponse,
  action: string,
  requestIdentity: string,
  clean: Clean,
): OsbError {
  const words = decodeError(text, isJsonType(contentType), clean);
  return new OsbError({ status, ...words, action, retryAfterMs, requestIdentity });
}
