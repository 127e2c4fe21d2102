import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  managedServiceBindings,
  namespacedProviderConfigUsages,
  providerConfigs,
  providerConfigUsages,
  serviceInstances,
} from "@klutch/api";
import { type DynamicObject, isRecord, secrets } from "@klutch/kube-core";
import { documentedMetrics, metricNames, waitFor } from "@klutch/kube-testing";
import { bothScopes, refIn } from "./testing/kinds.ts";
import { startProviderProcess } from "./testing/provider-process.ts";
import { binding, configName, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("provider", { controllerManager: true }));
const { client, broker } = fixture;
const ready = { type: "Ready", status: "True" };
const notSynced = { type: "Synced", status: "False" };
const run = (): (() => Promise<void>) => fixture.run({ pollIntervalMs: 500 });

for (const { title, types, of } of bothScopes) {
  const { instances, bindings } = types;
  const usages = instances.namespaced ? namespacedProviderConfigUsages : providerConfigUsages;

  test(`${title}: instance and binding live their whole life; nothing is left at the broker`, async () => {
    const stop = run();
    try {
      await client.create(instances, of(instance("one")));
      await client.create(bindings, of(binding("one-b", "one")));
      await fixture.condition(instances, "one", ready);
      await fixture.condition(bindings, "one-b", ready);
      const credentials = await fixture.credentials("one-b");
      assert.deepEqual(Object.keys(credentials).toSorted(), [
        "host",
        "hosts",
        "name",
        "password",
        "port",
        "uri",
        "username",
      ]);
      assert.deepEqual(await fixture.sql(credentials["uri"] ?? "", "select 1 as one"), [{ one: 1 }]);
      const { connectionDetails } = await fixture.atProvider(bindings, "one-b");
      assert.deepEqual(connectionDetails, [
        { hostURL: "127.0.0.1", port: String(broker.postgres.port), label: "SQL" },
      ]);
      await client.delete(instances, refIn(instances, "one"));
      assert.match(
        (await fixture.condition(instances, "one", notSynced)).message,
        /still bound by one-b; delete these ServiceBindings first/,
      );
      await client.delete(bindings, refIn(bindings, "one-b"));
      await fixture.gone(bindings, refIn(bindings, "one-b"));
      await fixture.gone(instances, refIn(instances, "one"));
      await fixture.gone(secrets, { namespace: "team", name: "one-b-creds" });
      assert.deepEqual(await fixture.databases(), []);
      // The collector searches for new kinds every half minute.
      await waitFor("usages to be collected", async () => (await client.list(usages)).items.length === 0, {
        timeoutMs: 90_000,
      });
      await assert.rejects(fixture.sql(credentials["uri"] ?? "", "select 1"));
    } finally {
      await stop();
    }
  });

  test(`${title}: a Secret that was deleted comes back with the same working credentials`, async () => {
    const stop = run();
    try {
      await client.create(instances, of(instance("heal")));
      await client.create(bindings, of(binding("heal-b", "heal")));
      await fixture.condition(bindings, "heal-b", ready);
      const before = await fixture.credentials("heal-b");
      await client.delete(secrets, { namespace: "team", name: "heal-b-creds" });
      assert.deepEqual(await fixture.credentials("heal-b"), before);
    } finally {
      await stop();
    }
  });

  test(`${title}: while the broker is down nothing is forgotten, and deletion goes on when it is back`, async () => {
    await broker.kill();
    const stop = run();
    try {
      await client.delete(bindings, refIn(bindings, "heal-b"));
      assert.match(
        (await fixture.condition(bindings, "heal-b", notSynced)).message,
        /(observe|delete) failed: the broker cannot be reached|the connection to the broker broke/,
      );
      assert.ok(await client.find(bindings, refIn(bindings, "heal-b")));
      await broker.start();
      await fixture.gone(bindings, refIn(bindings, "heal-b"));
      await client.delete(instances, refIn(instances, "heal"));
      await fixture.gone(instances, refIn(instances, "heal"));
      assert.deepEqual(await fixture.databases(), []);
    } finally {
      await stop();
    }
  });
}

/** Returns the instance's resourceVersion after the provider has read it from the broker `count` more times. */
async function versionAfterReads(name: string, count: number): Promise<string | undefined> {
  const { asked } = fixture.front;
  const before = asked.length;
  const reads = (): number =>
    asked.slice(before).filter(({ method, path }) => method === "GET" && path.includes("service_instances"))
      .length;
  await waitFor("the provider to read the instance from the broker", () => reads() >= count);
  return (await client.get(serviceInstances, { name })).metadata.resourceVersion;
}

test("a resource at rest causes no write, also with parameters and defaults", async () => {
  const stop = run();
  try {
    await client.create(
      serviceInstances,
      instance("rest", { parameters: { work_mem: "4MB" }, context: { a: "b" } }),
    );
    await fixture.condition(serviceInstances, "rest", ready);
    const settled = await versionAfterReads("rest", 2);
    assert.equal(await versionAfterReads("rest", 3), settled);
    await client.mergePatch(
      serviceInstances,
      { name: "rest" },
      { spec: { forProvider: { parameters: { work_mem: "8MB" } } } },
    );
    await waitFor("the new parameter at the broker", async () => {
      const { parameters } = await fixture.atProvider(serviceInstances, "rest");
      return isRecord(parameters) && parameters["work_mem"] === "8MB";
    });
    await client.delete(serviceInstances, { name: "rest" });
    await fixture.gone(serviceInstances, { name: "rest" });
  } finally {
    await stop();
  }
});

test("the broker's refusal and unknown names stand word for word in the condition, and the object can be deleted", async () => {
  const stop = run();
  try {
    await client.create(serviceInstances, instance("bad", { parameters: { wal_level_logical: true } }));
    assert.match(
      (await fixture.condition(serviceInstances, "bad", notSynced)).message,
      /create failed: InvalidParameters: parameters\.wal_level_logical is not supported by this broker/,
    );
    await client.create(serviceInstances, instance("worse", { planName: "postgresql-huge" }));
    assert.match(
      (await fixture.condition(serviceInstances, "worse", notSynced)).message,
      /no entry for the plan name "postgresql-huge"; a9s-postgresql17 has: postgresql-single-nano/,
    );
    for (const name of ["bad", "worse"]) {
      await client.delete(serviceInstances, { name });
      await fixture.gone(serviceInstances, { name });
    }
  } finally {
    await stop();
  }
});

test("a provider that is killed at any time neither doubles nor forgets an instance", async () => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-provider-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, fixture.kubeconfig, { mode: 0o600 });
  await client.create(serviceInstances, instance("crash"));
  await client.create(managedServiceBindings, binding("crash-b", "crash"));
  for (const delayMs of [350, 450, 550, 650, 800]) {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "main.ts"), "--poll=1s", "--health-probe-bind-address=127.0.0.1:0"],
      {
        env: { ...process.env, KUBECONFIG: kubeconfig },
        stdio: "ignore",
      },
    );
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const stop = run();
  try {
    await fixture.condition(serviceInstances, "crash", ready);
    await fixture.condition(managedServiceBindings, "crash-b", ready);
    assert.equal((await fixture.databases()).length, 1);
    assert.deepEqual(
      await fixture.sql((await fixture.credentials("crash-b"))["uri"] ?? "", "select 1 as one"),
      [{ one: 1 }],
    );
    await client.delete(managedServiceBindings, { name: "crash-b" });
    await client.delete(serviceInstances, { name: "crash" });
    await fixture.gone(serviceInstances, { name: "crash" });
    assert.deepEqual(await fixture.databases(), []);
  } finally {
    await stop();
  }
});

test("the health of the backend stands in the ProviderConfig", async () => {
  const stop = run();
  try {
    await waitFor("the ProviderConfig to be healthy", async () => {
      const { status } = await client.get<DynamicObject>(providerConfigs, {
        name: configName,
      });
      return isRecord(status) && isRecord(status["health"]) && status["health"]["lastStatus"] === true;
    });
  } finally {
    await stop();
  }
});

test("the processes of provider and broker have the metrics of the catalogue", async () => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-provider-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await using provider = await startProviderProcess(folder, fixture.kubeconfig);
  const scrape = async (where: string): Promise<string> => (await fetch(`http://${where}/metrics`)).text();
  await client.create(serviceInstances, instance("counted"));
  await fixture.condition(serviceInstances, "counted", ready);
  const ofProvider = await scrape(`127.0.0.1:${provider.port}`);
  const ofBroker = await scrape(`127.0.0.1:${broker.probePort}`);
  for (const [name, text] of [
    ["provider-anynines", ofProvider],
    ["broker", ofBroker],
  ] as const) {
    assert.deepEqual(metricNames(text), documentedMetrics(name));
  }
  assert.match(ofProvider, /^leader_election_master_status\{name="crossplane-\S+"\} 1$/m);
  assert.match(ofProvider, /^klutch_broker_requests_total\{operation="provision",code="202"\} 1$/m);
  assert.match(ofBroker, /^klutch_broker_served_requests_total\{operation="provision",code="202"\} [1-9]/m);
  await client.delete(serviceInstances, { name: "counted" });
  await fixture.gone(serviceInstances, { name: "counted" });
  await provider.process.stop();
});
