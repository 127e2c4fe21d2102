/** Binding and fetching a binding. */
import { type Json, isObject, isOptional, isText, isTextList, objectOf } from "@klutch/osb/internal";
import { type CheckContext, hasError, operationOf, planFields } from "../context.ts";
import type { Exchange } from "../exchange.ts";
import type { LedgerIds } from "../ledger.ts";
import { ruleIds } from "../rules.ts";
import { checkDeletion } from "./deletion.ts";

/** An existing binding. */
interface MadeBinding {
  readonly ids: LedgerIds;
  readonly body: Json;
  readonly asynchronous: boolean;
}

/** Checks bindings of an idle instance with the context's plan. A returned text explains why not everything could be tested. */
export async function checkBindings(
  context: CheckContext,
  { instanceId }: LedgerIds,
): Promise<string | undefined> {
  const { report, plan } = context.parts;
  if (!plan.bindable) {
    report.skip(
      "the plan is not bindable",
      ...ruleIds.filter((id) => /^(bind|fetch-binding|unbind)/.test(id)),
    );
    return undefined;
  }
  const newIds = (): LedgerIds => ({ instanceId, bindingId: context.parts.newId() });
  const good = goodBody(context);
  const noService = await context.create(newIds(), { ...good, service_id: undefined });
  context.expectStatus("bind-service-id", noService, 400);
  const noPlan = await context.create(newIds(), { ...good, plan_id: undefined });
  context.expectStatus("bind-plan-id", noPlan, 400);
  const first = await checkSynchronousBind(context, newIds());
  const second = await checkAcceptedBind(context, newIds());
  if (typeof second === "string") return second;
  await checkFetchBinding(context, second);
  await checkBindAgain(context, second);
  return checkDeletion(context, second.ids, typeof first === "string" ? undefined : first.ids);
}

function goodBody({ parts: { plan, wishes, newId } }: CheckContext): Json {
  return {
    ...planFields(plan),
    bind_resource: { app_guid: newId() },
    context: { platform: "kubernetes" },
    parameters: wishes.bindParameters,
  };
}

/** Binds without `accepts_incomplete`. A returned text explains why that bound nothing. */
async function checkSynchronousBind(context: CheckContext, ids: LedgerIds): Promise<MadeBinding | string> {
  const body = goodBody(context);
  const made = await context.create(ids, body, {});
  context.expectAsyncRequired("bind-async-required", made, [200, 201]);
  return finishBind(context, ids, body, made);
}

async function checkAcceptedBind(context: CheckContext, ids: LedgerIds): Promise<MadeBinding | string> {
  const { report } = context.parts;
  const body = goodBody(context);
  const made = await context.create(ids, body);
  const isAccepted = made.status === 201 || made.status === 202;
  const why = hasError(made, "RequiresApp")
    ? "RequiresApp, though bind_resource.app_guid was sent"
    : "the status is neither 201 nor 202";
  report.expect("bind-accepted", made, isAccepted, why);
  if (made.status === 200 || made.status === 201)
    report.skip("the broker binds at once", "bind-operation", "bind-secret", "fetch-binding-information");
  return finishBind(context, ids, body, made);
}

/** Tests the answer to a bind and waits for its end. A text says why there is no binding. */
async function finishBind(
  context: CheckContext,
  ids: LedgerIds,
  body: Json,
  made: Exchange,
): Promise<MadeBinding | string> {
  const { report } = context.parts;
  if (made.status === 200 || made.status === 201) {
    expectInformation(context, made, "bind-information");
    return { ids, body, asynchronous: false };
  }
  if (made.status !== 202) return `nothing was bound: ${made.came}`;
  context.expectOperation("bind-operation", made);
  const hasSecret = objectOf(made.body)["credentials"] !== undefined;
  report.expect("bind-secret", made, !hasSecret, "it has credentials");
  report.skip("the broker binds asynchronously", "bind-information");
  const failure = await context.failureOf(operationOf(ids, made, false));
  return failure === undefined ? { ids, body, asynchronous: true } : `nothing was bound: ${failure}`;
}

/** Tests what a binding gives. */
function expectInformation(
  { parts: { report, plan } }: CheckContext,
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
  const given = { syslog_drain: drain, route_forwarding: route, volume_mount: volumes };
  const undeclared = Object.entries(given).flatMap(([permission, value]) =>
    value === undefined || plan.requires.includes(permission) ? [] : [permission],
  );
  const why = `requires has no ${undeclared.join(", ")}`;
  report.expect("bind-requires", exchange, undeclared.length === 0, why);
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

async function checkFetchBinding(context: CheckContext, { ids, asynchronous }: MadeBinding): Promise<void> {
  const { report, plan } = context.parts;
  if (!plan.bindingsRetrievable) {
    const why = "the offering does not declare bindings_retrievable";
    report.skip(why, "fetch-binding", "fetch-binding-information", "fetch-binding-missing");
    return;
  }
  const fetched = await context.fetch(ids, planFields(plan));
  const isThere = context.expectObject("fetch-binding", fetched);
  if (isThere && asynchronous) expectInformation(context, fetched, "fetch-binding-information");
  const missing = await context.fetch({ ...ids, bindingId: context.parts.newId() });
  context.expectStatus("fetch-binding-missing", missing, 404);
}

async function checkBindAgain(context: CheckContext, { ids, body }: MadeBinding): Promise<void> {
  const { report, wishes } = context.parts;
  const again = await context.create(ids, body);
  context.expectStatus("bind-again", again, 200);
  const parameters = { ...wishes.bindParameters, "x-osb-check": "other" };
  const conflict = await context.create(ids, { ...body, parameters });
  if (conflict.status === 400) report.skip("the broker refuses the parameters themselves", "bind-conflict");
  else context.expectStatus("bind-conflict", conflict, 409);
}
