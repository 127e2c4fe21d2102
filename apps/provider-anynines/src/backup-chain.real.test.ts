import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { backups, managedServiceBindings, providerConfigs, restores, serviceInstances } from "@klutch/api";
import { type DynamicObject, recordAt, type ResourceType } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { bothScopes, refIn } from "./testing/kinds.ts";
import { backup, binding, instance, managerConfigName, restore, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("chain"));
const { client, front } = fixture;
const ready = { type: "Ready", status: "True" };
const notSynced = { type: "Synced", status: "False" };
const isPost = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method === "POST" && path.startsWith("/backup-manager/");

/** An instance `name` with a binding, and the URI of its database. */
async function provisioned(name: string): Promise<string> {
  await client.create(serviceInstances, instance(name));
  await client.create(managedServiceBindings, binding(`${name}-b`, name));
  await fixture.condition(managedServiceBindings, `${name}-b`, ready);
  return (await fixture.credentials(`${name}-b`))["uri"] ?? "";
}

async function delete_(...all: readonly (readonly [ResourceType, string])[]): Promise<void> {
  for (const [type, name] of all) await client.delete(type, { name });
  for (const [type, name] of all) await fixture.gone(type, { name });
}

for (const { title, types, of } of bothScopes) {
  test(`${title}: rows that were destroyed come back from a backup, and everything goes in the right order`, async () => {
    const stop = fixture.run();
    try {
      front.asked.length = 0;
      await client.create(types.instances, of(instance("db")));
      await client.create(types.bindings, of(binding("db-b", "db")));
      await fixture.condition(types.bindings, "db-b", ready);
      const { uri = "" } = await fixture.credentials("db-b");
      await fixture.sql(uri, "create table t (a int)");
      await fixture.sql(uri, "insert into t values (1), (2)");
      await client.create(types.backups, of(backup("night", "db")));
      await fixture.condition(types.backups, "night", ready);
      const { size, status, downloadable } = await fixture.atProvider(types.backups, "night");
      assert.ok(Number(size) > 0);
      assert.deepEqual([status, downloadable], ["done", false]);
      await fixture.sql(uri, "drop table t");
      await client.create(types.restores, of(restore("back", "night")));
      await fixture.condition(types.restores, "back", ready);
      assert.deepEqual(await fixture.sql(uri, "select sum(a)::int as sum from t"), [{ sum: 3 }]);
      await fixture.sql(uri, "insert into t values (4)");
      await client.delete(types.instances, refIn(types.instances, "db"));
      assert.match(
        (await fixture.condition(types.instances, "db", notSynced)).message,
        /still bound by db-b; .*still needed by the backups night; delete these Backups first/,
      );
      assert.deepEqual(
        await fixture.sql(uri, "select sum(a)::int as sum from t"),
        [{ sum: 7 }],
        "it ran once",
      );
      await client.delete(types.restores, refIn(types.restores, "back"));
      await client.delete(types.backups, refIn(types.backups, "night"));
      await client.delete(types.bindings, refIn(types.bindings, "db-b"));
      for (const [type, name] of [
        [types.restores, "back"],
        [types.backups, "night"],
        [types.bindings, "db-b"],
        [types.instances, "db"],
      ] as const)
        await fixture.gone(type, refIn(type, name));
      assert.deepEqual(await fixture.databases(), []);
      assert.equal(front.asked.filter(isPost).length, 2);
    } finally {
      await stop();
    }
  });
}

test("a lost answer of the manager is found in its list, and rows that were written meanwhile stay", async () => {
  const stop = fixture.run();
  try {
    const uri = await provisioned("lost");
    await fixture.sql(uri, "create table t (a int)");
    front.asked.length = 0;
    front.lie = (asked) =>
      isPost(asked) && front.asked.filter(isPost).length === 1
        ? { status: 502, type: "text/html", body: "<html>gateway</html>", forward: true }
        : undefined;
    await client.create(backups, backup("lost-night", "lost"));
    await fixture.condition(backups, "lost-night", ready);
    front.asked.length = 0;
    await client.create(restores, restore("lost-back", "lost-night"));
    await fixture.condition(restores, "lost-back", ready);
    assert.equal(front.asked.filter(isPost).length, 1, "each call was sent once");
    await delete_(
      [restores, "lost-back"],
      [backups, "lost-night"],
      [managedServiceBindings, "lost-b"],
      [serviceInstances, "lost"],
    );
  } finally {
    front.lie = undefined;
    await stop();
  }
});

test("a provider that is killed at any time makes one backup and one restore", async () => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-chain-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, fixture.kubeconfig, { mode: 0o600 });
  const killSometimes = async (): Promise<void> => {
    for (const delayMs of [400, 550, 700, 900]) {
      const main = join(import.meta.dirname, "main.ts");
      const args = [main, "--poll=1s", "--health-probe-bind-address=127.0.0.1:0"];
      const env = { ...process.env, KUBECONFIG: kubeconfig };
      const child = spawn(process.execPath, args, { env, stdio: "ignore" });
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  };
  let stop = fixture.run();
  const uri = await provisioned("kill");
  await fixture.sql(uri, "create table t (a int)");
  await stop();
  front.asked.length = 0;
  await client.create(backups, backup("kill-night", "kill"));
  await killSometimes();
  stop = fixture.run();
  await fixture.condition(backups, "kill-night", ready, 200_000);
  await stop();
  await client.create(restores, restore("kill-back", "kill-night"));
  await killSometimes();
  stop = fixture.run();
  try {
    await fixture.condition(restores, "kill-back", ready, 200_000);
    const { instanceId } = await fixture.atProvider(backups, "kill-night");
    const path = `/backup-manager/instances/${String(instanceId)}`;
    const authorization = `Basic ${Buffer.from("u:p").toString("base64")}`;
    for (const list of ["backups", "restores"]) {
      const answer = await fetch(`http://127.0.0.1:${fixture.broker.port}${path}/${list}`, {
        headers: { authorization },
      });
      const items: unknown = await answer.json();
      assert.ok(Array.isArray(items) && items.length === 1, list);
    }
    await delete_(
      [restores, "kill-back"],
      [backups, "kill-night"],
      [managedServiceBindings, "kill-b"],
      [serviceInstances, "kill"],
    );
  } finally {
    await stop();
  }
});

test("the health of a backup manager stands in its ProviderConfig, and why it is bad", async () => {
  const health = async (): Promise<Readonly<Record<string, unknown>>> => {
    const { status } = await client.get<DynamicObject>(providerConfigs, { name: managerConfigName });
    return recordAt(status, "health");
  };
  const checkAgain = { status: { health: { lastCheckTime: null, lastStatus: false, lastMessage: "" } } };
  const stop = fixture.run();
  try {
    await waitFor("it to be healthy", async () => (await health())["lastStatus"] === true);
    front.lie = ({ path }) =>
      path.startsWith("/backup-manager/")
        ? { status: 503, body: '{"error":"Down","description":"Later."}' }
        : undefined;
    await client.mergePatch(providerConfigs, { name: managerConfigName }, checkAgain, {
      subresource: "status",
    });
    await waitFor("it to be unhealthy", async () =>
      /HTTP 503 .*Down: Later/.test(String((await health())["lastMessage"])),
    );
  } finally {
    front.lie = undefined;
    await stop();
  }
});
