/** Provisioning: refusals first, then an instance that the other checks use. */
import { isOptional, objectOf } from "@klutch/osb/internal";
import { type CheckContext, planFields, type Operation, operationOf } from "../context.ts";
import type { RawRequest } from "../exchange.ts";
import type { LedgerIds } from "../ledger.ts";
import type { RuleId } from "../rules.ts";

/** The body of a good provision. */
function goodBody({ parts: { plan, wishes } }: CheckContext): Readonly<Record<string, unknown>> {
  const { organizationGuid: organization_guid, spaceGuid: space_guid, parameters } = wishes;
  const context = { platform: "kubernetes", organization_guid, space_guid };
  return { ...planFields(plan), organization_guid, space_guid, context, parameters };
}

/** Sends what must be refused, and looks whether it left something. */
export async function checkRefusedProvisions(context: CheckContext): Promise<void> {
  const good = goodBody(context);
  const cases: readonly (readonly [RuleId, RawRequest["body"]])[] = [
    ["provision-service-id", { ...good, service_id: undefined }],
    ["provision-plan-id", { ...good, plan_id: undefined }],
    ["provision-organization", { ...good, organization_guid: undefined }],
    ["provision-space", { ...good, space_guid: undefined }],
    ["provision-unknown-plan", { ...good, plan_id: context.parts.newId() }],
    ["body-malformed", '{"service_id":'],
  ];
  for (const [rule, body] of cases) {
    const ids = { instanceId: context.parts.newId() };
    const refused = await context.create(ids, body);
    context.expectStatus(rule, refused, 400);
    if (refused.status >= 400 && refused.status < 500) await expectNothingLeft(context, ids);
  }
}

/** Tests that a deprovision finds nothing after a refusal. */
async function expectNothingLeft(context: CheckContext, ids: LedgerIds): Promise<void> {
  const asked = await context.remove(ids);
  const { status } = asked;
  context.expectStatus("deprovision-gone", asked, 410);
  const isLeft = status === 200 || status === 202;
  context.parts.report.expect(
    "error-unchanged",
    asked,
    !isLeft,
    "the refused instance was there to be deleted",
  );
  if (isLeft) context.parts.ledger.answered(ids, status);
  else if (status >= 400 && status < 500) context.parts.ledger.gone(ids);
}

/** Provisions without `accepts_incomplete`; an instance made at once is deleted at the end with everything else. */
export async function checkSynchronousProvision(context: CheckContext): Promise<void> {
  const made = await context.create({ instanceId: context.parts.newId() }, goodBody(context), {});
  context.expectAsyncRequired("provision-async-required", made, [200, 201]);
}

/** Provisions the instance of the later checks. A text says why there is none. */
export async function checkProvision(context: CheckContext): Promise<LedgerIds | string> {
  const { report } = context.parts;
  const ids = { instanceId: context.parts.newId() };
  const first = await context.create(ids, goodBody(context));
  if (context.expectStatus("provision-accepted", first, 201, 202)) {
    context.expectOperation("provision-operation", first);
    const dashboard = objectOf(first.body)["dashboard_url"];
    const isUrl = isOptional(dashboard, (value) => value === null || typeof value === "string");
    report.expect("provision-dashboard", first, isUrl, "dashboard_url is something else");
  }
  if (first.status === 202) {
    const operation = operationOf(ids, first, false);
    await checkWhileProvisioning(context, operation);
    const failure = await context.failureOf(operation);
    if (failure !== undefined) return `the instance was not provisioned: ${failure}`;
  } else {
    const rules = ["provision-resent", "fetch-instance-provisioning", "provision-operation"] as const;
    report.skip("the broker provisions at once", ...rules);
    if (first.status !== 200 && first.status !== 201)
      return `the instance was not provisioned: ${first.came}`;
  }
  await checkProvisionAgain(context, ids);
  return ids;
}

async function checkWhileProvisioning(context: CheckContext, operation: Operation): Promise<void> {
  const { report, plan } = context.parts;
  const { ids } = operation;
  const resent = await context.create(ids, goodBody(context));
  await context.expectResent("provision-resent", operation, resent);

  if (plan.instancesRetrievable) {
    const fetched = await context.fetch(ids);
    if (await context.goesOn(operation)) context.expectStatus("fetch-instance-provisioning", fetched, 404);
    else report.skip("provisioning ended before it could be fetched", "fetch-instance-provisioning");
  }

  const body = { ...planFields(plan), context: { platform: "kubernetes" } };
  const updated = await context.update(ids, body);
  if (await context.goesOn(operation)) context.expectConcurrency(updated, [200, 202]);
}

/** The instance is there. */
async function checkProvisionAgain(context: CheckContext, ids: LedgerIds): Promise<void> {
  const { report, plan } = context.parts;
  const again = await context.create(ids, goodBody(context));
  context.expectStatus("provision-again", again, 200);

  const more = { ...goodBody(context), "x-osb-check": { unknown: [true] } };
  const extended = await context.create(ids, more);
  const isIgnored = extended.status === again.status;
  report.expect("extension-fields", extended, isIgnored, "the answer is another than without it");

  if (plan.otherPlanId === undefined) {
    report.skip("the offering has no other plan", "provision-conflict");
    return;
  }
  const conflict = await context.create(ids, { ...goodBody(context), plan_id: plan.otherPlanId });
  context.expectStatus("provision-conflict", conflict, 409);
}
