/** Binding and fetching a binding. */
import { type Json, isObject, isOptional, isText, isTextList, objectOf } from "@klutch/osb/internal";
import {
  type CheckContext,
  create,
  expectAsyncRequired,
  expectOperation,
  hasError,
  operationOfBody,
  pathOf,
  planFields,
  untilEnded,
} from "../context.ts";
import type { Exchange } from "../exchange.ts";
import type { RuleId } from "../rules.ts";
import type { CheckedInstance } from "./provision.ts";
import { checkRefusedUnbinds, checkSynchronousUnbind, checkUnbind } from "./unbind.ts";

/** Names a binding. */
interface BindingIds {
  readonly instanceId: string;
  readonly bindingId: string;
}

/** A binding that is there. */
interface MadeBinding extends BindingIds {
  readonly body: Json;
  readonly asynchronous: boolean;
}

const bindingRules = [
  "bind-service-id",
  "bind-plan-id",
  "bind-async-required",
  "bind-accepted",
  "bind-operation",
  "bind-secret",
  "bind-information",
  "bind-requires",
  "bind-endpoints",
  "bind-again",
  "bind-conflict",
  "fetch-binding",
  "fetch-binding-information",
  "fetch-binding-missing",
  "unbind-service-id",
  "unbind-plan-id",
  "unbind-async-required",
  "unbind-accepted",
  "unbind-operation",
  "unbind-gone",
] as const satisfies readonly RuleId[];

/** The instance has the context's plan, and nothing works on it. A text says why not everything could be tested. */
export async function checkBindings(
  context: CheckContext,
  { instanceId }: CheckedInstance,
): Promise<string | undefined> {
  const { report, plan } = context;
  if (!plan.bindable) {
    report.skip("the plan is not bindable", ...bindingRules);
    return undefined;
  }
  await checkRefusedBinds(context, instanceId);
  const first = await checkSynchronousBind(context, { instanceId, bindingId: context.newId() });
  const second = await checkAcceptedBind(context, { instanceId, bindingId: context.newId() });
  if (typeof second === "string") return second;
  await checkFetchBinding(context, second);
  await checkBindAgain(context, second);
  await checkRefusedUnbinds(context, second);
  if (first !== undefined) {
    await checkSynchronousUnbind(context, first);
    return checkUnbind(context, second);
  }
  const isGone = await checkSynchronousUnbind(context, second);
  return checkUnbind(context, second, { isGone });
}

function goodBody({ plan, wishes, newId }: CheckContext): Json {
  const { bindParameters } = wishes;
  return {
    ...planFields(plan),
    bind_resource: { app_guid: newId() },
    context: { platform: "kubernetes" },
    ...(bindParameters === undefined ? {} : { parameters: bindParameters }),
  };
}

async function checkRefusedBinds(context: CheckContext, instanceId: string): Promise<void> {
  const { service_id: _service, ...noService } = goodBody(context);
  const { plan_id: _plan, ...noPlan } = goodBody(context);
  const cases = [
    ["bind-service-id", noService],
    ["bind-plan-id", noPlan],
  ] as const;
  for (const [rule, body] of cases) {
    const refused = await create(context, { instanceId, bindingId: context.newId() }, body);
    context.report.expect(rule, refused, refused.status === 400, "the status is not 400");
  }
}

/** Without `accepts_incomplete`. Undefined when nothing was bound by that. */
async function checkSynchronousBind(
  context: CheckContext,
  ids: BindingIds,
): Promise<MadeBinding | undefined> {
  const body = goodBody(context);
  const made = await create(context, ids, body, {});
  expectAsyncRequired(context, "bind-async-required", made, [200, 201]);
  const finished = await finishBind(context, { ...ids, body }, made);
  return typeof finished === "string" ? undefined : finished;
}

async function checkAcceptedBind(context: CheckContext, ids: BindingIds): Promise<MadeBinding | string> {
  const body = goodBody(context);
  const made = await create(context, ids, body);
  const isAccepted = made.status === 201 || made.status === 202;
  const why = hasError(made, "RequiresApp")
    ? "RequiresApp, though bind_resource.app_guid was sent"
    : "the status is neither 201 nor 202";
  context.report.expect("bind-accepted", made, isAccepted, why);
  if (made.status === 200 || made.status === 201)
    context.report.skip(
      "the broker binds at once",
      "bind-operation",
      "bind-secret",
      "fetch-binding-information",
    );
  return finishBind(context, { ...ids, body }, made);
}

/** Tests the answer to a bind and waits for its end. A text says why there is no binding. */
async function finishBind(
  context: CheckContext,
  binding: BindingIds & { readonly body: Json },
  made: Exchange,
): Promise<MadeBinding | string> {
  const { report } = context;
  if (made.status === 200 || made.status === 201) {
    expectInformation(context, made, "bind-information");
    return { ...binding, asynchronous: false };
  }
  if (made.status !== 202) return `nothing was bound: ${made.came}`;
  expectOperation(context, "bind-operation", made);
  const hasSecret = objectOf(made.body)["credentials"] !== undefined;
  report.expect("bind-secret", made, !hasSecret, "it has credentials");
  report.skip("the broker binds asynchronously", "bind-information");
  const end = await untilEnded(context, binding, { operation: operationOfBody(made), deletes: false });
  if (end.kind === "succeeded") return { ...binding, asynchronous: true };
  return `nothing was bound: ${end.kind === "failed" ? end.description : "the binding is gone"}`;
}

/** Tests what a binding gives. */
function expectInformation(
  { report, plan }: CheckContext,
  exchange: Exchange,
  rule: "bind-information" | "fetch-binding-information",
): void {
  const body = objectOf(exchange.body);
  const { credentials, syslog_drain_url: drain, route_service_url: route, volume_mounts: volumes } = body;
  const isTyped =
    isOptional(credentials, isObject) &&
    isOptional(drain, isText) &&
    isOptional(route, isText) &&
    isOptional(volumes, Array.isArray);
  const isThere = [credentials, drain, route, volumes].some((value) => value !== undefined);
  report.expect(rule, exchange, isTyped && isThere, isThere ? "one has another type" : "it has none of them");
  const undeclared = [
    ["syslog_drain", drain],
    ["route_forwarding", route],
    ["volume_mount", volumes],
  ].filter(([permission, value]) => value !== undefined && !plan.requires.includes(permission));
  const names = undeclared.map(([permission]) => permission).join(", ");
  report.expect("bind-requires", exchange, undeclared.length === 0, `requires has no ${names}`);
  const areEndpoints = isOptional(
    body["endpoints"],
    (list) => Array.isArray(list) && list.every((item) => isEndpoint(objectOf(item))),
  );
  report.expect("bind-endpoints", exchange, areEndpoints, "an endpoint is something else");
}

function isEndpoint({ host, ports, protocol }: Json): boolean {
  const isProtocol = isOptional(protocol, (name) => name === "tcp" || name === "udp" || name === "all");
  return isText(host) && isTextList(ports) && ports.length > 0 && isProtocol;
}

async function checkFetchBinding(context: CheckContext, binding: MadeBinding): Promise<void> {
  const { report, plan } = context;
  if (!plan.bindingsRetrievable) {
    const why = "the offering does not declare bindings_retrievable";
    report.skip(why, "fetch-binding", "fetch-binding-information", "fetch-binding-missing");
    return;
  }
  const fetched = await context.send({ method: "GET", path: pathOf(binding), query: planFields(plan) });
  const isThere = fetched.status === 200 && isObject(fetched.body);
  report.expect("fetch-binding", fetched, isThere, "the status is not 200 or the body no object");
  if (isThere && binding.asynchronous) expectInformation(context, fetched, "fetch-binding-information");
  const unknown = { instanceId: binding.instanceId, bindingId: context.newId() };
  const missing = await context.send({ method: "GET", path: pathOf(unknown) });
  report.expect("fetch-binding-missing", missing, missing.status === 404, "the status is not 404");
}

async function checkBindAgain(context: CheckContext, binding: MadeBinding): Promise<void> {
  const { report, wishes } = context;
  const again = await create(context, binding, binding.body);
  report.expect("bind-again", again, again.status === 200, "the status is not 200");
  const parameters = { ...wishes.bindParameters, "x-osb-check": "other" };
  const conflict = await create(context, binding, { ...binding.body, parameters });
  if (conflict.status === 400) report.skip("the broker refuses the parameters themselves", "bind-conflict");
  else report.expect("bind-conflict", conflict, conflict.status === 409, "the status is not 409");
}
