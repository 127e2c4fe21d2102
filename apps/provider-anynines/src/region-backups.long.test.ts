/** Backups in two regions: two real brokers with their backup managers and databases, each behind a front that records who was asked. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  backups,
  claimKindAnnotation,
  instanceTypeLabel,
  managedServiceBindings,
  providerConfigs,
  regionLabel,
  restores,
  serviceInstances,
} from "@klutch/api";
import { type DynamicObject, recordAt, secrets, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { startBroker } from "./testing/broker.ts";
import {
  backup,
  binding,
  config,
  configName,
  instance,
  managerConfigName,
  restore,
  startFixture,
} from "./testing/fixture.ts";
import { type Front, startFront } from "./testing/front.ts";
import { team } from "./testing/kinds.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("region-backups"));
const { client, front: nearFront } = fixture;
const folder = await mkdtemp(join(tmpdir(), "klutch-region-backups-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const farBroker = stack.use(await startBroker(folder));
const farFront = stack.use(await startFront(() => farBroker.port));
const farUrl = `http://127.0.0.1:${farFront.port}`;
for (const [name, spec] of [
  ["far-broker", { url: farUrl, serviceType: "servicebroker" }],
  ["far-manager", { url: `${farUrl}/backup-manager`, serviceType: "backupmanager" }],
] as const)
  await client.create(providerConfigs, config(providerConfigs, name, spec));
stack.defer(fixture.run());

/** A region, and the names of its ProviderConfigs. */
interface Region {
  readonly region: string;
  readonly broker: string;
  readonly manager: string;
}
const near: Region = { region: "eu-1", broker: configName, manager: managerConfigName };
const far: Region = { region: "eu-2", broker: "far-broker", manager: "far-manager" };
const isReady = { type: "Ready", status: "True" } as const;
const notSynced = { type: "Synced", status: "False" } as const;

/** Returns the object as the composition function makes it at this ProviderConfig of the region. */
function at(config: string, { region }: Pick<Region, "region">, object: DynamicObject): DynamicObject {
  const { labels, annotations } = object.metadata;
  const place = { [instanceTypeLabel]: "postgresql", [regionLabel]: region };
  const metadata = {
    ...object.metadata,
    labels: { ...labels, ...place },
    annotations: { ...annotations, [claimKindAnnotation]: `anynines.com/v1/${object.kind}` },
  };
  return { ...object, metadata, spec: { ...recordAt(object, "spec"), providerConfigRef: { name: config } } };
}

/** Makes a database with rows, and returns its address and the instance's id at its broker. */
async function database(name: string, of: Region, rows: string) {
  await client.create(serviceInstances, at(of.broker, of, instance(name)));
  await client.create(managedServiceBindings, at(of.broker, of, binding(`${name}-app`, name)));
  await fixture.condition(managedServiceBindings, `${name}-app`, isReady);
  const { uri = "" } = await fixture.credentials(`${name}-app`);
  await fixture.sql(uri, "create table t (a int)");
  await fixture.sql(uri, `insert into t values ${rows}`);
  const { instanceId } = await fixture.atProvider(serviceInstances, name);
  assert.ok(typeof instanceId === "string");
  return { uri, instanceId };
}

/** Requests that a front got about an instance's backups and restores. */
const askedAbout = (front: Front, instanceId: string): readonly string[] =>
  front.asked
    .filter(({ path }) => path.startsWith("/backup-manager/") && path.includes(instanceId))
    .map(({ method, path }) => `${method} ${path}`);
const rowsOf = (uri: string): Promise<readonly unknown[]> =>
  fixture.sql(uri, "select a::int as a from t order by a");

const here = await database("near", near, "(1), (2)");
const there = await database("far", far, "(7), (8)");

test("an instance of a second region is backed up, destroyed and restored by the servers of its region, and no other one is asked or changed", async () => {
  await client.create(backups, at(far.manager, far, backup("far-night", "far")));
  await client.create(backups, at(near.manager, near, backup("near-night", "near")));
  for (const name of ["far-night", "near-night"]) await fixture.condition(backups, name, isReady);
  for (const { uri } of [here, there]) await fixture.sql(uri, "delete from t");
  await client.create(restores, at(far.manager, far, restore("far-back", "far-night")));
  await fixture.condition(restores, "far-back", isReady);
  assert.deepEqual(await rowsOf(there.uri), [{ a: 7 }, { a: 8 }]);
  assert.deepEqual(await rowsOf(here.uri), [], "the other region is untouched");
  await client.create(restores, at(near.manager, near, restore("near-back", "near-night")));
  await fixture.condition(restores, "near-back", isReady);
  assert.deepEqual(await rowsOf(here.uri), [{ a: 1 }, { a: 2 }]);
  for (const [front, own, other] of [
    [farFront, there, here],
    [nearFront, here, there],
  ] as const) {
    const isPost = (asked: string): boolean => asked.startsWith("POST ");
    assert.equal(askedAbout(front, own.instanceId).filter(isPost).length, 2, "a backup and a restore");
    assert.deepEqual(askedAbout(front, other.instanceId), []);
  }
});

test("a restore at the manager of another region, and a backup of an instance that is not in its namespace, are refused with words", async () => {
  await client.create(restores, at(near.manager, far, restore("astray", "far-night")));
  await client.create(restores, at(near.manager, near, restore("too-early", "far-night")));
  await client.create(backups, at(far.manager, far, backup("of-others", "somebody-elses")));
  const words = [
    [restores, "astray", /names the ProviderConfig \S+-manager, but its backup is at .*far-manager/],
    [restores, "too-early", /the backup far-night is in the region eu-2; the Restore goes there/],
    [backups, "of-others", /there is no instance somebody-elses in the namespace of this Backup/],
  ] as const;
  for (const [type, name, message] of words) await fixture.condition(type, name, { ...notSynced, message });
  assert.deepEqual(askedAbout(nearFront, there.instanceId), []);
  assert.deepEqual(await rowsOf(there.uri), [{ a: 7 }, { a: 8 }]);
  for (const [type, name] of words) await client.delete(type, { name });
  for (const [type, name] of words) await fixture.gone(type, { name });
});

test("while a region's servers are dead, those of another region that claim its backups are not asked; then the backup is made", async () => {
  // It would answer that each backup and restore of the far instance is done.
  const done = JSON.stringify({ id: 1, status: "done", backup_id: 1, message: "" });
  nearFront.lie = ({ path }) =>
    path.includes(there.instanceId)
      ? { status: 200, body: path.endsWith("s") ? `[${done}]` : done }
      : undefined;
  await farBroker.kill();
  await client.create(backups, at(far.manager, far, backup("far-late", "far")));
  await client.create(restores, at(far.manager, far, restore("far-again", "far-late")));
  await fixture.condition(backups, "far-late", { ...notSynced, message: /cannot be reached|ECONN|broke/ });
  await fixture.condition(restores, "far-again", {
    ...notSynced,
    message: /the backup far-late is not ready/,
  });
  await client.create(backups, at(near.manager, near, backup("near-late", "near")));
  await fixture.condition(backups, "near-late", isReady);
  await farBroker.start();
  await fixture.condition(backups, "far-late", isReady, 240_000);
  await fixture.condition(restores, "far-again", isReady, 240_000);
  assert.deepEqual(await rowsOf(there.uri), [{ a: 7 }, { a: 8 }]);
  assert.deepEqual(askedAbout(nearFront, there.instanceId), []);
});

test("a region whose ProviderConfig has the credentials of another broker makes nothing and says so, and works once they are right", async () => {
  const passwordOf = (password: string): object => ({ password: Buffer.from(password).toString("base64") });
  const name = "mixed-up";
  await client.create<DynamicObject>(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: team, name },
    data: { username: Buffer.from("u").toString("base64"), ...passwordOf("of-another-broker") },
  });
  const entry = (key: string): object => ({ secretRef: { namespace: team, name, key } });
  const providerCredentials = { source: "Secret", username: entry("username"), password: entry("password") };
  const mixedUp = config(providerConfigs, name, { url: farUrl, serviceType: "servicebroker" });
  await client.create(providerConfigs, {
    ...mixedUp,
    spec: { ...recordAt(mixedUp, "spec"), providerCredentials },
  });
  const countThere = (): Promise<readonly unknown[]> =>
    fixture.sql(farBroker.postgres.url, "select count(*)::int as n from pg_database where datname ~ '^i'");
  const [before] = await countThere();
  await client.create(serviceInstances, at(name, { region: "eu-3" }, instance(name)));
  await fixture.condition(serviceInstances, name, { ...notSynced, message: /username or password is wrong/ });
  await waitFor("the ProviderConfig to say why", async () => {
    const { status } = await client.get<DynamicObject>(providerConfigs, { name });
    return /HTTP 401|Unauthorized/.test(textAt(status, "health", "lastMessage") ?? "");
  });
  assert.deepEqual(await countThere(), [before]);
  await client.mergePatch(secrets, { namespace: team, name }, { data: passwordOf("p") });
  await fixture.condition(serviceInstances, name, isReady, 120_000);
  await client.delete(serviceInstances, { name });
  await fixture.gone(serviceInstances, { name });
  await client.delete(providerConfigs, { name });
});

test("everything of both regions goes, each at its own servers", async () => {
  const all = [
    [restores, ["far-back", "near-back", "far-again"]],
    [backups, ["far-night", "near-night", "far-late", "near-late"]],
    [managedServiceBindings, ["far-app", "near-app"]],
    [serviceInstances, ["far", "near"]],
  ] as const;
  for (const [type, names] of all) {
    for (const name of names) await client.delete(type, { name });
    for (const name of names) await fixture.gone(type, { name });
  }
  assert.deepEqual(askedAbout(nearFront, there.instanceId), []);
  assert.deepEqual(askedAbout(farFront, here.instanceId), []);
  assert.deepEqual(await fixture.databases(), []);
});
