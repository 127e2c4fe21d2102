/** A control plane that has the kinds of one generation only: an older one, or one whose CustomResourceDefinitions are applied bit by bit. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { providerCrds } from "@klutch/api";
import { customResourceDefinitions, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { createLogger } from "@klutch/telemetry";
import { clusterScoped, namespaced } from "./scope.ts";
import { bothScopes, refIn, type TestKinds } from "./testing/kinds.ts";
import { instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("absent-kinds", { installed: [clusterScoped] }));
const { client } = fixture;

/** Lines of the provider's log that say that a kind is not served. */
let said: string[] = [];
const logger = createLogger({
  name: "provider",
  write: (line) => {
    if (line.includes("the kind is not served")) said.push(line);
  },
});

const [legacyKinds, v2Kinds] = bothScopes;

async function untilReady(kinds: TestKinds | undefined, name: string): Promise<void> {
  assert.ok(kinds !== undefined);
  const { instances } = kinds.types;
  await client.create(instances, kinds.of(instance(name)));
  await fixture.condition(instances, name, { type: "Ready", status: "True" }, 60_000);
}

test("with the cluster-scoped kinds it works and names the absent kinds; the namespaced ones are served when they come", async () => {
  const stop = fixture.run({ logger });
  try {
    await untilReady(legacyKinds, "one");
    const absent = [
      "backups",
      "clusterproviderconfigs",
      "providerconfigs",
      "restores",
      "servicebindings",
      "serviceinstances",
    ];
    const named = said.map((line) => textAt(JSON.parse(line), "resource"));
    assert.equal(named.length, absent.length);
    assert.deepEqual(new Set(named), new Set(absent));
    assert.ok(said.every((line) => textAt(JSON.parse(line), "group") === namespaced.instances.group));
    await fixture.install(namespaced);
    await untilReady(v2Kinds, "two");
    await client.delete(clusterScoped.instances, { name: "one" });
    await fixture.gone(clusterScoped.instances, { name: "one" });
    // Also a ProviderConfig that is not used any more goes.
    const unused = { name: "postgresql-backup-manager" };
    for (const [type] of [clusterScoped.configs, namespaced.configs]) {
      assert.ok(type !== undefined);
      await client.delete(type, unused);
      await fixture.gone(type, unused);
    }
  } finally {
    await stop();
  }
});

test("with the namespaced kinds alone it works, too", async () => {
  const legacy = providerCrds.filter((crd) => textAt(crd, "spec", "group") === clusterScoped.instances.group);
  for (const { metadata } of legacy) {
    const { name } = metadata;
    // What holds objects of the kind is the provider, which does not run.
    await client.delete(customResourceDefinitions, { name });
  }
  for (const type of clusterScoped.configs)
    for (const { metadata } of (await client.list(type)).items)
      await client.mergePatch(type, { name: metadata.name ?? "" }, { metadata: { finalizers: null } });
  for (const { metadata } of legacy) {
    const { name } = metadata;
    await waitFor(
      `${name} to be gone`,
      async () => (await client.find(customResourceDefinitions, { name })) === undefined,
    );
  }
  said = [];
  const stop = fixture.run({ logger });
  try {
    await untilReady(v2Kinds, "three");
    assert.ok(said.length > 0 && said.every((line) => line.includes(`"${clusterScoped.instances.group}"`)));
    for (const name of ["two", "three"]) {
      const ref = refIn(namespaced.instances, name);
      await client.delete(namespaced.instances, ref);
      await fixture.gone(namespaced.instances, ref);
    }
    assert.deepEqual(await fixture.databases(), []);
  } finally {
    await stop();
  }
});
