/** The konnector between two real API servers, and kubectl: a claim is ready when its provider has worked on the spec that it has now. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  composedCondition,
  specDigestAnnotation,
  specObservedCondition,
  specObservedReason,
} from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { type DynamicObject, numberAt, recordsAt } from "@klutch/kube-core";
import { anyObject, crdObject, waitFor } from "@klutch/kube-testing";
import { isFresh } from "@klutch/sync";
import { serviceNamespace } from "../testing/pair.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import {
  bindApi,
  type RunningKonnector,
  startKonnector,
  type TestApi,
  testApi,
  widget,
} from "../testing/fixture.ts";
import { conditionsWith } from "../testing/database-api.ts";

const status = {
  type: "object",
  properties: {
    observedGeneration: { type: "integer", format: "int64" },
    port: { type: "integer" },
    conditions: conditionsWith("lastTransitionTime", "reason"),
  },
};
const { type, name: apiName } = testApi("databases", "Database");
const crd = crdObject(type, { properties: { spec: anyObject, status }, hasStatus: true });
const databases: TestApi = { name: apiName, type, crd };
const fixture = await startTenantFixture({ exported: [databases] });
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer, untilReady, create } = fixture;
let konnector: RunningKonnector = cleanup.use(
  await startKonnector(fixture, { timing: { overdueAfterMs: 1_000 } }),
);
const kubectl = await resolveEngine("kubectl");
const folder = await mkdtemp(join(tmpdir(), "klutch-generations-"));
cleanup.defer(() => rm(folder, { recursive: true }));
await writeFile(join(folder, "kubeconfig"), consumer.kubeconfig);

async function run(...args: readonly string[]): Promise<string> {
  const common = [
    "--kubeconfig",
    join(folder, "kubeconfig"),
    "--cache-dir",
    join(folder, "cache"),
    "-n",
    "app",
  ];
  return (await promisify(execFile)(kubectl, [...common, ...args])).stdout;
}

const since = { lastTransitionTime: "2026-01-01T00:00:00Z" };
const markOf = ({ metadata }: DynamicObject): string =>
  metadata.annotations?.[specDigestAnnotation] ?? "none";

/** The provider's status, stamped with the generation that its object has now, whatever it was made for; as Crossplane does. */
async function writeStatus(name: string, mark: string, more: object = {}): Promise<void> {
  const { metadata } = await waitFor(`${name} on the provider`, () => onProvider(type, name));
  const observedGeneration = metadata.generation;
  const said = [
    { type: "Ready", status: "True", reason: "Available", observedGeneration, ...since },
    {
      type: specObservedCondition,
      status: "True",
      reason: specObservedReason(mark),
      observedGeneration,
      ...since,
    },
  ];
  const ref = { namespace: serviceNamespace, name };
  const patch = { status: { port: 5432, conditions: said, ...more } };
  await provider.client.mergePatch(type, ref, patch, { subresource: "status", fieldManager: "crossplane" });
}

/** The `Ready` condition of the claim, with the generation it reports and the claim's own. */
const shown = async (name: string): Promise<string> => {
  const claim = await onConsumer(type, name);
  const ready = recordsAt(claim?.status, "conditions").find((one) => one["type"] === "Ready");
  const number = numberAt(claim?.status, "observedGeneration");
  return `${String(ready?.["reason"])} ${number} of ${claim?.metadata.generation}`;
};
const untilShown = async (name: string, what: string): Promise<void> => {
  await waitFor(`${name} to show ${what}`, async () => {
    assert.equal(await shown(name), what);
    return true;
  });
};

test("the API server gives a fresh claim the default status, so that no one takes it for finished; after a second it says what it waits for", async () => {
  await bindApi(fixture, databases.name, kubeconfig);
  await untilReady(databases.name);
  const fresh = await create(type, widget(type, "one", { size: 1 }));
  const read = await onConsumer(type, "one");
  assert.equal(numberAt(read?.status, "observedGeneration") ?? -1, -1);
  assert.ok(fresh.status === undefined || isFresh(fresh.status), JSON.stringify(fresh.status));
  await untilShown("one", "SpecNotObserved 0 of 1");
});

test("kubectl wait returns when the provider has worked on the spec, in the claim's own generations", async () => {
  const upstream = await waitFor("one on the provider", () => onProvider(type, "one"));
  await writeStatus("one", markOf(upstream));
  await run("wait", "--for=condition=Ready", "databases/one", "--timeout=60s");
  await untilShown("one", "Available 1 of 1");
  const claim = await onConsumer(type, "one");
  assert.equal(numberAt(claim?.status, "port"), 5432);
  assert.ok(!JSON.stringify(claim?.status).includes("klutch.anynines.com"));
});

test("an edited claim never reports ready before the provider worked on that spec, whatever number it stamps", async () => {
  for (const size of [2, 3, 4]) {
    const old = markOf(await waitFor("one on the provider", () => onProvider(type, "one")));
    await run("patch", "databases/one", "--type=merge", "-p", JSON.stringify({ spec: { size } }));
    let isWorkedOn = false;
    const waiting = run("wait", "--for=condition=Ready", "databases/one", "--timeout=120s").then(
      () => isWorkedOn,
    );
    await waitFor(
      "the edit on the provider",
      async () =>
        markOf((await onProvider(type, "one")) ?? { apiVersion: "", kind: "", metadata: {} }) !== old,
    );
    await writeStatus("one", old, { port: 5_000 + size });
    await waitFor(
      "the news to be shown",
      async () => numberAt((await onConsumer(type, "one"))?.status, "port") === 5_000 + size,
    );
    assert.equal(await shown("one"), `SpecNotObserved ${size - 1} of ${size}`);
    isWorkedOn = true;
    await writeStatus("one", markOf(await waitFor("one", () => onProvider(type, "one"))));
    assert.equal(await waiting, true);
    await untilShown("one", `Available ${size} of ${size}`);
  }
});

test("a provider that lies about generations makes no claim ready", async () => {
  const { metadata } = await waitFor("one on the provider", () => onProvider(type, "one"));
  const mark = markOf({ apiVersion: "", kind: "", metadata });
  for (const [said, more] of [
    ["0123456789abcdef", { port: 1 }],
    [mark, { port: 2, observedGeneration: 99 }],
    [mark, { port: 3, observedGeneration: -1 }],
  ] as const) {
    await writeStatus("one", said, more);
    await waitFor(
      "the lie to be shown",
      async () => numberAt((await onConsumer(type, "one"))?.status, "port") === more.port,
    );
    assert.equal(await shown("one"), "SpecNotObserved 3 of 4");
    await assert.rejects(run("wait", "--for=condition=Ready", "databases/one", "--timeout=0s"));
  }
  await writeStatus("one", mark, { observedGeneration: null });
  await untilShown("one", "Available 4 of 4");
});

test("why the provider cannot make it reaches the claim, in the claim's own words, and goes again", async () => {
  await create(type, widget(type, "cause", { size: 1 }));
  const { metadata } = await waitFor("cause on the provider", () => onProvider(type, "cause"));
  const said = (conditions: readonly object[]): Promise<unknown> =>
    provider.client.mergePatch(
      type,
      { namespace: serviceNamespace, name: "cause" },
      { status: { observedGeneration: metadata.generation, conditions } },
      { subresource: "status" },
    );
  const message = `it cannot be made in ${serviceNamespace}`;
  const general = [
    { type: "Ready", status: "False", reason: "Waiting", message: "Claim is waiting", ...since },
    { type: "Synced", status: "True", reason: "ReconcileSuccess", ...since },
  ];
  await said([
    ...general,
    { type: composedCondition, status: "False", reason: "CannotCompose", message, ...since },
  ]);
  await untilShown("cause", "CannotCompose 1 of 1");
  const conditions = recordsAt((await onConsumer(type, "cause"))?.status, "conditions");
  assert.deepEqual(
    conditions.map((one) => [one["type"], one["status"], one["reason"], one["message"]]),
    ["Ready", "Synced"].map((name) => [name, "False", "CannotCompose", "it cannot be made in app"]),
  );
  await said(general);
  await untilShown("cause", "Waiting 1 of 1");
});

test("after a restart of the agent nothing is written, neither to claims in sync nor to upstream objects without a mark", async () => {
  await create(type, widget(type, "two", { size: 1 }));
  const ref = { namespace: serviceNamespace, name: "two" };
  const { metadata } = await waitFor("two on the provider", () => onProvider(type, "two"));
  const status = {
    observedGeneration: metadata.generation,
    conditions: [{ type: "Ready", status: "True", reason: "Available", ...since }],
  };
  await provider.client.mergePatch(type, ref, { status }, { subresource: "status" });
  await untilShown("two", "Available 1 of 1");
  await konnector[Symbol.asyncDispose]();
  const annotations = { [specDigestAnnotation]: null };
  await provider.client.mergePatch(type, ref, { metadata: { annotations } }, { fieldManager: "somebody" });
  konnector = cleanup.use(await startKonnector(fixture));
  await untilReady(databases.name);
  await create(type, widget(type, "three", {}));
  await waitFor("three on the provider", () => onProvider(type, "three"));
  const writes = konnector.writes.filter((write) => write.endsWith(" databases"));
  assert.ok(writes.length <= 4, `only what concerns the new claim: ${writes.join(", ")}`);
  assert.equal(markOf((await onProvider(type, "two")) ?? { apiVersion: "", kind: "", metadata: {} }), "none");
  assert.equal(await shown("two"), "Available 1 of 1");
});
