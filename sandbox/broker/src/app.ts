/** Serves the broker's HTTP API. */
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { basicAuth } from "hono/basic-auth";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { callOf } from "@klutch/backup-manager";
import { operationOf } from "@klutch/osb";
import type { Logger, Metrics } from "@klutch/telemetry";
import { metadataOf } from "./activity.ts";
import { findPlan } from "./catalog.ts";
import { badRequest, BrokerError, identifierIn, objectIn } from "./errors.ts";
import * as declarations from "./metrics.ts";
import type { BrokerService } from "./service.ts";

/** Options of `createApp`. */
export interface AppOptions {
  readonly service: BrokerService;
  readonly username: string;
  readonly password: string;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  /** Served under `/backup-manager`. */
  readonly backups?: Hono | undefined;
}

const instancePath = "/v2/service_instances/:instance";
const bindingPath = `${instancePath}/service_bindings/:binding`;

/** Creates the application; `fetch` serves it. */
export function createApp(options: AppOptions): Hono {
  const { service, logger } = options;
  const app = new Hono();
  app.onError((error, context) => errorAnswer(error, context, logger));
  app.get("/healthz", (context) => context.json({ status: "ok" }));
  if (options.metrics !== undefined) {
    app.use("/v2/*", counting(options.metrics, operationOf));
    app.use("/backup-manager/*", counting(options.metrics, callOf));
  }
  app.use("/v2/*", echoRequestIdentity, ...guards(options), checkVersion);
  app.get("/v2/catalog", (context) => context.json(service.catalog));
  addInstanceRoutes(app, service);
  addBindingRoutes(app, service);
  if (options.backups !== undefined) app.route("/backup-manager", options.backups);
  app.notFound((context) =>
    context.json({ error: "NotFound", description: `no such path: ${context.req.path}` }, 404),
  );
  return app;
}

const identityHeader = "x-broker-api-request-identity";

/** Returns the identity of a request with its answer, so that the platform finds it. */
const echoRequestIdentity: MiddlewareHandler = async (context, next) => {
  await next();
  const identity = context.req.header(identityHeader);
  if (identity !== undefined && /^[\x21-\x7e]{1,255}$/.test(identity))
    context.res.headers.set(identityHeader, identity);
};

/** Counts each request by its operation and answer. */
function counting(metrics: Metrics, nameOf: (method: string, path: string) => string): MiddlewareHandler {
  const served = metrics.counter(declarations.brokerServed);
  const durations = metrics.histogram(declarations.brokerServedDuration);
  return async (context, next) => {
    const startedAt = performance.now();
    await next();
    const operation = nameOf(context.req.method, context.req.path);
    served.labels({ operation, code: String(context.res.status) }).inc();
    durations.labels({ operation }).observe((performance.now() - startedAt) / 1000);
  };
}

function addInstanceRoutes(app: Hono, service: BrokerService): void {
  const idOf = (context: Context): string => identifierIn(context.req.param("instance"), "instance");
  app.put(instancePath, async (context) => {
    const id = idOf(context);
    requireAsync(context);
    const made = await service.provision(id, await objectIn(context.req));
    return made === "accepted" ? context.json({ operation: "provision" }, 202) : context.json({}, 200);
  });
  app.patch(instancePath, async (context) => {
    const id = idOf(context);
    requireAsync(context);
    await service.update(id, await objectIn(context.req));
    return context.json({ operation: "update" }, 202);
  });
  app.delete(instancePath, async (context) => {
    const id = idOf(context);
    requireAsync(context);
    await service.deprovision(id, context.req.query());
    return context.json({ operation: "deprovision" }, 202);
  });
  app.get(instancePath, async (context) => {
    const id = idOf(context);
    const { operation, state, planId: plan_id, parameters } = await service.instance(id);
    if (operation === "provision" && state !== "succeeded")
      throw new BrokerError(404, "InstanceNotFound", "the instance is not provisioned yet");
    if (state === "in progress")
      throw new BrokerError(422, "ConcurrencyError", "the instance is being changed");
    const metadata = metadataOf(await service.activity(id));
    return context.json({ service_id: findPlan(plan_id)?.serviceId, plan_id, parameters, ...metadata });
  });
  app.get(`${instancePath}/last_operation`, async (context) => {
    const found = await service.instance(idOf(context)).catch((error: unknown) => {
      // The specification wants 410 after a deprovision.
      const isOver = error instanceof BrokerError && error.status === 404;
      if (isOver && context.req.query("operation") === "deprovision")
        throw new BrokerError(410, error.error, error.message);
      throw error;
    });
    const { operation, state, description } = found;
    if (state === "in progress") context.header("Retry-After", "1");
    return context.json({ state, description: description === "" ? `${operation} is running` : description });
  });
}

function addBindingRoutes(app: Hono, service: BrokerService): void {
  const idsOf = ({ req }: Context): [string, string] => [
    identifierIn(req.param("instance"), "instance"),
    identifierIn(req.param("binding"), "binding"),
  ];
  app.put(bindingPath, async (context) => {
    const ids = idsOf(context);
    const { made, credentials } = await service.bind(...ids, await objectIn(context.req));
    return context.json({ credentials }, made === "created" ? 201 : 200);
  });
  app.get(bindingPath, async (context) =>
    context.json({ credentials: await service.credentials(...idsOf(context)) }),
  );
  app.delete(bindingPath, async (context) => {
    await service.unbind(...idsOf(context), context.req.query());
    return context.json({});
  });
}

function requireAsync(context: Context): void {
  if (context.req.query("accepts_incomplete") === "true") return;
  const message = "This service plan requires client support for asynchronous service operations.";
  throw new BrokerError(422, "AsyncRequired", message);
}

/** Refuses large bodies and, before anything else about a request is judged, other credentials. */
export function guards({
  username,
  password,
}: Pick<AppOptions, "username" | "password">): MiddlewareHandler[] {
  const invalidUserMessage = { error: "Unauthorized", description: "username or password is wrong" };
  const onError = (): never => {
    throw new BrokerError(413, "BadRequest", "the body is larger than 256 KiB");
  };
  const login = basicAuth({ username, password, realm: "broker", invalidUserMessage });
  return [login, bodyLimit({ maxSize: 256 * 1024, onError })];
}

const checkVersion: MiddlewareHandler = async ({ req }, next) => {
  const header = req.header("x-broker-api-version");
  if (header === undefined) throw badRequest("X-Broker-API-Version is missing; 2.13 or newer is needed");
  if (Number(/^2\.(\d+)$/.exec(header)?.[1] ?? 0) >= 13) return next();
  const message = `X-Broker-API-Version is ${header}; 2.13 or newer is needed`;
  throw new BrokerError(412, "PreconditionFailed", message);
};

/** Answers a request that failed. */
export function errorAnswer(error: Error, context: Context, logger: Logger): Response {
  if (error instanceof BrokerError)
    return context.json({ error: error.error, description: error.message }, error.status);
  if (error instanceof HTTPException) return error.getResponse();
  logger.error("request failed", { path: context.req.path, error });
  return context.json({ error: "InternalServerError", description: "the broker failed; see its log" }, 500);
}
