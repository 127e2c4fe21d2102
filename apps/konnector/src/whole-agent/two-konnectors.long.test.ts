/** Two konnectors with leases of different names work in one app cluster: they say so, and write nothing against each other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apiServiceBindings,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  konnectorManifests,
  konnectorPolicyManifests,
  updateManifests,
  wantedKonnectorLabel,
} from "@klutch/api";
import {
  deployments,
  type DynamicObject,
  events,
  recordAt,
  recordsAt,
  refOf,
  textAt,
  wholeSeconds,
} from "@klutch/kube-core";
import { systemClock } from "@klutch/kube";
import { applyPolicies, installRights, waitFor } from "@klutch/kube-testing";
import { databaseApi } from "../testing/database-api.ts";
import { bindApi, startKonnector, widget } from "../testing/fixture.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const databases = databaseApi("databases", "Database");
const fixture = await startTenantFixture({ exported: [databases] });
const { consumer, provider, kubeconfig, cleanup, onProvider, binding, untilReady, create } = fixture;
const one = cleanup.use(await startKonnector(fixture, { identity: "one" }));
const ofTenant = { namespace: tenantNamespace, name: clusterBindingName };
const timing = { heartbeatMs: 1_000 };

const said = async (): Promise<readonly string[]> => {
  const { items } = await consumer.client.list<DynamicObject>(events, { namespace: consumerNamespace });
  return items
    .filter((event) => event["reason"] === "TwoKonnectors")
    .map((event) => String(event["message"]));
};

test("two of ours write nothing but heartbeats while nothing changes, and the binding names the second", async () => {
  await bindApi(fixture, databases.name, kubeconfig);
  await untilReady(databases.name);
  await using two = await startKonnector(fixture, { identity: "two", leaseName: "other", timing });
  await create(databases.type, widget(databases.type, "a", { size: 1 }));
  await waitFor("the object on the provider", () => onProvider(databases.type, "a"));
  await untilReady(databases.name);
  await systemClock.sleep(5_000);
  const before = [one.writes.length, two.writes.length];
  await systemClock.sleep(10_000);
  const since = [...one.writes.slice(before[0]), ...two.writes.slice(before[1])];
  // The second has a heartbeat each second.
  const others = since.filter((write) => !/clusterbindings|apiservicebindings/.test(write));
  assert.deepEqual(others, []);
  assert.ok(since.length <= 14, since.join("\n"));
  const words = /^another konnector \(version v\S+\) works with the access of this cluster to its provider/;
  await waitFor("the event", async () => (await said()).some((text) => words.test(text)));
});

test("a konnector of another version that answers each write is not answered each time", async () => {
  const stop = new AbortController();
  let answered = 0;
  // Plays a konnector in Go: it puts its own version and its own words back whenever they are not there.
  const versions = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const { status } = await provider.client.get<DynamicObject>(clusterBindings, ofTenant);
      const { konnectorVersion } = status as { konnectorVersion?: string };
      if (konnectorVersion !== "v1.5.0") {
        answered++;
        const theirs = { konnectorVersion: "v1.5.0", lastHeartbeatTime: wholeSeconds(systemClock.now()) };
        await provider.client.mergePatch(
          clusterBindings,
          ofTenant,
          { status: theirs },
          { subresource: "status" },
        );
      }
      const found = await binding(databases.name);
      const name = (found?.status as { providerPrettyName?: string } | undefined)?.providerPrettyName;
      if (name !== "Go") {
        answered++;
        const ref = refOf(`${consumerNamespace}/${databases.name}`);
        const theirs = { status: { providerPrettyName: "Go" } };
        await consumer.client.mergePatch(apiServiceBindings, ref, theirs, { subresource: "status" });
      }
      await systemClock.sleep(20);
    }
  };
  const before = one.writes.length;
  const playing = versions();
  await systemClock.sleep(10_000);
  stop.abort();
  await playing;
  const written = one.writes.length - before;
  assert.ok(answered >= 2, "the other konnector has written");
  assert.ok(written <= 12, `${written} writes in 10 s`);
  await waitFor("the event", async () => (await said()).some((text) => text.includes("(version v1.5.0)")));
});

test("with an opt-in the wanted version becomes the image of the own Deployment, and a version that is not allowed is told and not run", async () => {
  await one[Symbol.asyncDispose]();
  const repository = "registry.example.org/klutch/konnector";
  const updates = { line: "minor", floor: "v1.6.0", repository } as const;
  const ref = { namespace: consumerNamespace, name: "konnector" };
  const manifests = konnectorManifests({ image: `${repository}:v1.6.0` });
  for (const one of manifests.filter(({ kind }) => kind === "Deployment"))
    await consumer.client.create(deployments, one);
  await installRights(consumer.client, updateManifests(updates));
  const scope = { apis: [databases.name], claims: [], secretTypes: [], updates };
  await applyPolicies(consumer.client, konnectorPolicyManifests(scope));
  const image = async (): Promise<unknown> => {
    const found = await consumer.client.get<DynamicObject>(deployments, ref);
    return recordsAt(recordAt(found, "spec", "template", "spec"), "containers")[0]?.["image"];
  };
  const words = async (): Promise<Readonly<Record<string, unknown>>> => {
    const { status } = await provider.client.get<DynamicObject>(clusterBindings, ofTenant);
    return recordAt({ status }, "status", "konnectorUpdates");
  };
  const want = (version: string): Promise<unknown> =>
    provider.client.mergePatch(clusterBindings, ofTenant, {
      metadata: { annotations: { [wantedKonnectorLabel]: version } },
    });
  await using _follower = await startKonnector(fixture, { identity: "three", updates, timing });
  await waitFor("the opt-in at the provider", async () => (await words())["floor"] === updates.floor);
  await want("v1.7.3");
  await waitFor("the image", async () => (await image()) === `${repository}:v1.7.3`);
  await want("v2.0.0");
  const problem = async (): Promise<string> => textAt(await words(), "problem") ?? "";
  await waitFor("the refusal", async () => /v2\.0\.0 is not of v1\./.test(await problem()));
  await want("v1.5.0");
  await waitFor("the refusal", async () => /v1\.5\.0 is below v1\.6\.0/.test(await problem()));
  // A provider that lies: an image of its own instead of a version, then 200 KB.
  await want(`v1.7.4@sha256:${"0".repeat(64)}`);
  await waitFor("no problem, because no version is wanted", async () => (await problem()) === "");
  await want(`v1.7.4${" ".repeat(200_000)}`);
  await want("v1.6.0");
  await waitFor("the way back", async () => (await image()) === `${repository}:v1.6.0`);
  assert.equal(await problem(), "");
});
