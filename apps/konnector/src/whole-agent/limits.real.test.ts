/** The konnector between two real API servers: a provider that limits how many objects the app cluster may have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apiLimit,
  apiServiceBindings,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
} from "@klutch/api";
import { ApiError, quotaRefusalOf } from "@klutch/kube";
import {
  apiVersionOf,
  type DynamicObject,
  events,
  namespaces,
  type ObjectRef,
  recordAt,
  recordsAt,
  resourceQuotas,
  textAt,
} from "@klutch/kube-core";
import { applyPolicies, namespaceObject, objectOfType, waitFor } from "@klutch/kube-testing";
import { databaseApi, readyStatus } from "../testing/database-api.ts";
import { bindApi, startKonnector, widget } from "../testing/fixture.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const databases = databaseApi("databases", "Database");
const { type, name: api } = databases;
const fixture = await startTenantFixture({ exported: [databases] });
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer, binding } = fixture;
const { untilReady, createSynced } = fixture;
const konnector = cleanup.use(await startKonnector(fixture, { timing: { massDeletionLimit: 0 } }));

const quota = { namespace: serviceNamespace, name: "klutch-limits" };
const counted = `count/${api}`;

/** Plays the backend and the quota controller. The quota itself counts creations; a new one refuses them until its use is set. */
async function setQuota(max: number, used?: number, ref: ObjectRef = quota): Promise<void> {
  const hard = { [counted]: String(max) };
  if ((await provider.client.find(resourceQuotas, ref)) === undefined)
    await provider.client.create(resourceQuotas, objectOfType(resourceQuotas, ref, { spec: { hard } }));
  await provider.client.mergePatch(resourceQuotas, ref, { spec: { hard } });
  const status = { hard, ...(used === undefined ? {} : { used: { [counted]: String(used) } }) };
  await provider.client.mergePatch(resourceQuotas, ref, { status }, { subresource: "status" });
}
const usedOfQuota = async (): Promise<string | undefined> =>
  textAt((await provider.client.get<DynamicObject>(resourceQuotas, quota)).status, "used", counted);

/** Plays the backend, which tells the limit in the ClusterBinding. */
async function tell(limit: object | undefined, contact: string | null = null): Promise<void> {
  const ref = { namespace: tenantNamespace, name: clusterBindingName };
  const limits = limit === undefined ? null : [{ group: type.group, resource: type.plural, ...limit }];
  const patch = { status: { limits, contact } };
  await provider.client.mergePatch(clusterBindings, ref, patch, { subresource: "status" });
}

const limitShown = async (): Promise<unknown> => recordAt((await binding(api))?.["status"])["limit"];
const untilShown = (limit: object | undefined): Promise<unknown> =>
  waitFor(`limit ${JSON.stringify(limit)}`, async () => {
    const shown = await limitShown();
    return JSON.stringify(shown) === JSON.stringify(limit) ? "shown" : undefined;
  });
const messageOf = async (name: string): Promise<string> => {
  const claim = await onConsumer(type, name);
  const [ready] = recordsAt(claim?.status, "conditions").filter((one) => one["type"] === "Ready");
  return textAt(ready, "message") ?? "";
};
async function warnings(reason: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const event of consumer.client.listAll<DynamicObject>(events))
    if (textAt(event, "reason") === reason && event["type"] === "Warning")
      found.push(`${textAt(event, "involvedObject", "name")}: ${textAt(event, "message")}`);
  return found;
}
const create = (name: string): Promise<DynamicObject> =>
  consumer.client.create<DynamicObject>(type, widget(type, name, { size: 1 }));
/** Returns the refusal of the app cluster; undefined if it took the claim. */
async function refusal(name: string): Promise<string | undefined> {
  try {
    await create(name);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 403, String(error));
    return error.message;
  }
}
const names = Array.from({ length: 10 }, (_, index) => `burst-${index}`);
async function upstream(): Promise<readonly string[]> {
  const found = await Promise.all(names.map((name) => onProvider(type, name)));
  return found.flatMap((object) => object?.metadata.name ?? []);
}
const untilUpstream = (count: number): Promise<readonly string[]> =>
  waitFor(`${count} upstream`, async () => {
    const found = await upstream();
    return found.length === count ? found : undefined;
  });
const applies = (): number => konnector.writes.filter((write) => write === "provider apply databases").length;
const bindingWrites = (): number =>
  konnector.writes.filter((write) => write === "consumer merge status apiservicebindings").length;

test("an API without a limit is bound and synced as ever, and its binding shows none", async () => {
  await bindApi(fixture, api, kubeconfig);
  await untilReady(api);
  await createSynced(type, "first");
  assert.equal(await limitShown(), undefined);
  await consumer.client.delete(type, { namespace: "app", name: "first" });
  await waitFor("first to be gone", async () => (await onConsumer(type, "first")) === undefined);
});

test("the server refuses with words of its own until a new quota is counted, and they are known", async () => {
  const elsewhere = { namespace: "uncounted", name: "new" };
  await provider.client.create(namespaces, namespaceObject(elsewhere.namespace));
  await setQuota(3, undefined, elsewhere);
  let attempt = 0;
  const refused = await waitFor("the quota to be in force", async () => {
    const ref = { namespace: elsewhere.namespace, name: `probe-${attempt++}` };
    const answer = provider.client.create(type, objectOfType(type, ref, { spec: {} }));
    return answer.then(
      () => undefined,
      (error: unknown) => error,
    );
  });
  assert.ok(refused instanceof ApiError, String(refused));
  assert.equal(quotaRefusalOf(refused), "NotCounted", refused.message);
});

test("while the control plane counts for a new quota a claim says so in our words, and goes up once it has counted", async () => {
  await setQuota(20);
  const early: string[] = [];
  const counting =
    "the provider has not got this spec yet: the control plane is counting the objects of this cluster; it is tried again in a few seconds";
  const refused = await waitFor("a claim that comes after the quota", async () => {
    const name = `early-${early.length}`;
    early.push(name);
    await create(name);
    const isTaken = await waitFor("the outcome", async () => {
      if ((await onProvider(type, name)) !== undefined) return "taken";
      return (await messageOf(name)) === counting ? "refused" : undefined;
    });
    return isTaken === "taken" ? undefined : name;
  });
  await setQuota(20, 0);
  await waitFor("it upstream", () => onProvider(type, refused));
  for (const reason of ["SyncRefused", "LimitReached"]) assert.deepEqual(await warnings(reason), []);
  for (const name of early) {
    await consumer.client.delete(type, { namespace: "app", name });
    await waitFor(`${name} to be gone`, async () => (await onConsumer(type, name)) === undefined);
  }
});

const words = "this cluster may have 3 databases, has 3; ask Ann [31m<ann@example.org>";

test("of a burst of ten against a limit of three, three go up, and the others wait and say why, without a hot loop", async () => {
  await setQuota(3, 0);
  await tell({ max: 3, used: 0 }, "Ann\n\u001b[31m<ann@example.org>");
  await untilShown({ contact: "Ann [31m<ann@example.org>", max: 3, used: 0 });
  const [appliesBefore, writesBefore] = [applies(), bindingWrites()];
  await Promise.all(names.map(create));
  const up = await untilUpstream(3);
  const waiting = names.filter((name) => !up.includes(name));
  for (const name of waiting)
    await waitFor(`the words of ${name}`, async () => (await messageOf(name)).endsWith(`yet: ${words}`));
  // The provider has not told of them: the konnector counts what it synced.
  await untilShown({ contact: "Ann [31m<ann@example.org>", max: 3, used: 3 });
  const said = await waitFor("the events", async () => {
    const found = await warnings("LimitReached");
    return found.length >= waiting.length ? found.toSorted() : undefined;
  });
  assert.deepEqual(
    said,
    waiting.map((name) => `${name}: ${words}`),
  );
  assert.deepEqual(await warnings("SyncRefused"), []);
  await new Promise((resolve) => setTimeout(resolve, 3_500));
  // Ten that were new, and one after a second and after two more each time something changed.
  assert.ok(applies() - appliesBefore <= 20, `${applies() - appliesBefore} applies`);
  assert.ok(bindingWrites() - writesBefore <= 5, `${bindingWrites() - writesBefore} writes to the binding`);
  assert.deepEqual(await upstream(), up);
});

test("two go up when two are deleted, and all when the limit is raised", async () => {
  const [one = "", two = ""] = await upstream();
  for (const name of [one, two]) {
    await consumer.client.delete(type, { namespace: "app", name });
    await waitFor(`${name} to be gone`, async () => (await onConsumer(type, name)) === undefined);
  }
  await setQuota(3, 1);
  await tell({ max: 3, used: 1 }, "Ann");
  const up = await untilUpstream(3);
  assert.equal(await usedOfQuota(), "3");
  const [waiting = ""] = names.filter((name) => ![one, two, ...up].includes(name));
  await waitFor("the words", async () => (await messageOf(waiting)).endsWith("has 3; ask Ann"));
  await setQuota(20);
  await tell({ max: 20, used: 3 }, "Ann");
  await untilUpstream(8);
  await untilShown({ contact: "Ann", max: 20, used: 8 });
});

test("a claim that waits is deleted at once, though the provider takes no other", async () => {
  await setQuota(8);
  await create("unwanted");
  await waitFor("the words", async () => (await messageOf("unwanted")).includes("may have 20 databases"));
  await consumer.client.delete(type, { namespace: "app", name: "unwanted" });
  await waitFor("it to be gone", async () => (await onConsumer(type, "unwanted")) === undefined);
});

test("the next claim is refused by the app cluster itself, and taken when the limit is raised", async () => {
  await applyPolicies(consumer.client, apiLimit.manifestsOf(api));
  await tell({ max: 8, used: 8 }, "Ann");
  let attempt = 0;
  const message = await waitFor("a refusal", () => refusal(`ninth-${attempt++}`));
  assert.ok(message.endsWith("denied request: this cluster may have 8 databases, has 8; ask Ann"), message);
  assert.match(
    message,
    /^create Database ninth-\d+: databases\.test\.klutch\.example "ninth-\d+" is forbidden/,
  );
  await setQuota(30);
  await tell({ max: 30, used: 8 }, "Ann");
  await waitFor("a claim to be taken", async () => (await refusal("raised")) === undefined);
  await waitFor("it upstream", () => onProvider(type, "raised"));
});

test("a provider that says 0 keeps new claims away and nothing else: existing ones are edited, served, adopted and deleted", async () => {
  // Claims are taken until the words are in force, and the quota is not what this test is about.
  await setQuota(1_000);
  await tell({ max: 0, used: 0 });
  const [name = "", other = ""] = await upstream();
  let attempt = 0;
  const message = await waitFor("a refusal", () => refusal(`zero-${attempt++}`));
  assert.match(message, /this cluster may have 0 databases, has \d+$/);
  const ref = { namespace: "app", name };
  await consumer.client.mergePatch(type, ref, { spec: { size: 2 } });
  await waitFor("the edit", async () => recordAt((await onProvider(type, name))?.["spec"])["size"] === 2);
  const served = { status: readyStatus(`${name}-creds`, "served") };
  const upstreamRef = { namespace: serviceNamespace, name };
  await provider.client.mergePatch(type, upstreamRef, served, { subresource: "status" });
  await waitFor("the status", async () => (await messageOf(name)) === "served");
  const theirs = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { namespace: serviceNamespace, name: "theirs" },
    spec: {},
  };
  await waitFor("the quota to be raised", () => provider.client.create(type, theirs));
  await waitFor("the provider's object to be adopted", () => onConsumer(type, "theirs"));
  await consumer.client.delete(type, { namespace: "app", name: other });
  await waitFor("the deletion", async () => (await onConsumer(type, other)) === undefined);
  assert.equal(await onProvider(type, other), undefined);
});

test("a limit that is lifted is gone from the binding, and a binding that is deleted refuses nothing", async () => {
  await tell(undefined);
  await untilShown(undefined);
  await waitFor("a claim to be taken", async () => (await refusal("lifted")) === undefined);
  await tell({ max: 0, used: 0 });
  let attempt = 0;
  await waitFor("a refusal", () => refusal(`again-${attempt++}`));
  await consumer.client.delete(apiServiceBindings, { namespace: consumerNamespace, name: api });
  await waitFor("the binding to be gone", async () => (await binding(api)) === undefined);
  await waitFor("a claim to be taken", async () => (await refusal("after")) === undefined);
});
