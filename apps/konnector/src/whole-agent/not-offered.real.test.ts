/** The konnector between two real API servers: an API that the provider does not offer any more, or that it revoked. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceExports } from "@klutch/api";
import { clusterRoles, type DynamicObject, events, recordsAt, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { databaseApi, readyStatus } from "../testing/database-api.ts";
import { bindApi, startKonnector, widget } from "../testing/fixture.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const databases = databaseApi("databases", "Database");
const { type, name: api } = databases;
const fixture = await startTenantFixture({ exported: [databases] });
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer } = fixture;
const { untilReady, untilReason, create, createSynced } = fixture;
cleanup.use(await startKonnector(fixture));
const words = `The platform does not offer ${api} any more. Existing objects continue. Ask the platform team.`;

/** Plays the backend when a template is deleted, when access is revoked, and when both come back: the export's condition, and the rights. */
async function offer(isOffered: boolean, reason: "NotOffered" | "Revoked" = "NotOffered"): Promise<void> {
  const ref = { namespace: tenantNamespace, name: api };
  const verbs = ["get", "list", "watch", "update", "patch", "delete", ...(isOffered ? ["create"] : [])];
  const rules =
    reason === "Revoked" && !isOffered
      ? []
      : [{ apiGroups: [type.group], resources: [type.plural, `${type.plural}/status`], verbs }];
  await provider.client.mergePatch(clusterRoles, { name: `klutch-binder-${tenantNamespace}` }, { rules });
  const { status } = await provider.client.get<DynamicObject>(apiServiceExports, ref);
  const said = isOffered
    ? { status: "True" }
    : { status: "False", severity: "Error", reason, message: "for operators" };
  const condition = { type: "ProviderInSync", lastTransitionTime: "2026-01-01T00:00:00Z", ...said };
  const others = recordsAt(status, "conditions").filter((one) => one["type"] !== "ProviderInSync");
  const patch = { status: { conditions: [...others, condition] } };
  await provider.client.mergePatch(apiServiceExports, ref, patch, { subresource: "status" });
}

async function warningsOn(name: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const event of consumer.client.listAll<DynamicObject>(events))
    if (textAt(event, "involvedObject", "name") === name && event["type"] === "Warning")
      found.push(`${textAt(event, "reason")} ${textAt(event, "message")}`);
  return found;
}

const readyOf = async (name: string): Promise<string> => {
  const claim = await onConsumer(type, name);
  const [ready] = recordsAt(claim?.status, "conditions").filter((one) => one["type"] === "Ready");
  return ["status", "reason", "message"].map((field) => textAt(ready, field) ?? "").join(" ");
};
const serve = (name: string, message: string): Promise<unknown> => {
  const ref = { namespace: serviceNamespace, name };
  const patch = { status: readyStatus(`${name}-creds`, message) };
  return provider.client.mergePatch(type, ref, patch, { subresource: "status" });
};

test("the binding says that its API is not offered any more, and existing objects continue", async () => {
  await bindApi(fixture, api, kubeconfig);
  await untilReady(api);
  await createSynced(type, "old");
  await offer(false);
  assert.equal(await untilReason(api, "Offered", "NotOffered"), words);
  assert.equal(await untilReason(api, "Ready", "NotOffered"), words);
  await serve("old", "still here");
  await waitFor("the status", async () => (await readyOf("old")) === "True Available still here");
  const ref = { namespace: "app", name: "old" };
  await consumer.client.mergePatch(type, ref, { spec: { size: 2 } });
  await waitFor("the edit", async () => {
    const upstream = await onProvider(type, "old");
    return JSON.stringify(upstream?.["spec"]) === '{"size":2}';
  });
});

test("a new claim of it says so in plain words, in its status and as an event, and nothing else", async () => {
  await create(type, widget(type, "new", {}));
  await waitFor("the status", async () => (await readyOf("new")).endsWith(words));
  const warnings = await waitFor("the event", async () => {
    const found = await warningsOn("new");
    return found.length > 0 ? found : undefined;
  });
  assert.deepEqual(warnings, [`NotOffered ${words}`]);
  assert.match(await readyOf("new"), /^Unknown SpecNotSent /);
});

test("when it is offered again, the claim is created and the binding is ready", async () => {
  await offer(true);
  await untilReady(api);
  await waitFor("new on the provider", () => onProvider(type, "new"));
  await serve("new", "");
  await waitFor("the status", async () => (await readyOf("new")).startsWith("True Available"));
});

test("an API that the provider revoked is named as such, its objects stay on both sides, and it goes on when it is given back", async () => {
  await offer(false, "Revoked");
  const revoked = `The platform revoked the access of this cluster to ${api}. Existing objects stay there and are not synced. Ask the platform team, then run kubectl bind again.`;
  assert.equal(await untilReason(api, "Offered", "Revoked"), revoked);
  const ref = { namespace: "app", name: "old" };
  await consumer.client.mergePatch(type, ref, { spec: { size: 3 } });
  // A claim that waits says so, which shows that the agent has tried.
  await waitFor("the refused edit", async () => (await warningsOn("old")).length > 0);
  assert.notEqual(await onConsumer(type, "old"), undefined);
  assert.deepEqual((await onProvider(type, "old"))?.["spec"], { size: 2 });
  await offer(true);
  await untilReady(api);
  await waitFor("the edit", async () => {
    const upstream = await onProvider(type, "old");
    return JSON.stringify(upstream?.["spec"]) === '{"size":3}';
  });
});
