/** Sizes and sessions that the broker tells of databases in a real PostgreSQL server. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { bytesAttribute, lastSessionAttribute } from "@klutch/api";
import { waitFor } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { Writable } from "node:stream";
import { PostgresDriver } from "./drivers/postgres.ts";
import { login, nano, query, startFixture } from "./testing/fixture.ts";
import type { Instance } from "./store.ts";

const fixture = await startFixture({ measureEveryMs: 100, logger: silentLogger });
after(() => fixture[Symbol.asyncDispose]());
const { provisioned, bound } = fixture;

interface Told {
  readonly bytes: number;
  readonly lastSession: number;
}

async function told(instanceId: string): Promise<Told | undefined> {
  const { attributes } = await fixture.osb.fetchInstance(instanceId);
  if (attributes === undefined) return undefined;
  return {
    bytes: Number(attributes[bytesAttribute]),
    lastSession: Date.parse(String(attributes[lastSessionAttribute])),
  };
}

/** Waits until it is told, which is soon after the instance was made. */
const known = (instanceId: string): Promise<Told> =>
  waitFor(`the activity of ${instanceId}`, () => told(instanceId));

test("a database that no one uses keeps its last session, also over a restart of the broker", async () => {
  await provisioned("quiet");
  const { lastSession } = await known("quiet");
  assert.ok(Math.abs(Date.now() - lastSession) < 60_000);
  await provisioned("beside");
  await query(await bound("beside", "beside-1"), "select 1");
  await waitFor("a later look", async () => ((await told("beside"))?.lastSession ?? 0) > lastSession);
  await fixture.restart();
  await waitFor("a look of the next broker", async () => {
    await query(await bound("beside", "beside-1"), "select 1");
    return ((await told("beside"))?.lastSession ?? 0) > lastSession + 1_000;
  });
  assert.equal((await told("quiet"))?.lastSession, lastSession);
});

test("a session that came and went, and one that is open, move the last session; data add to the size", async () => {
  await provisioned("busy");
  const uri = await bound("busy", "busy-1");
  const first = await known("busy");
  await query(uri, "create table t as select repeat('x', 1000) as x from generate_series(1, 10000)");
  await waitFor("the session", async () => ((await told("busy"))?.lastSession ?? 0) > first.lastSession);
  await waitFor("the size", async () => ((await told("busy"))?.bytes ?? 0) > first.bytes + 1_000_000);
  await using _session = await login(uri);
  const opened = Date.now();
  await waitFor("the open session", async () => ((await told("busy"))?.lastSession ?? 0) > opened + 500);
});

test("a backup is no use of the database", async () => {
  await provisioned("kept");
  const {
    postgresUrl,
    secretKey,
    postgresPrograms: folder = "",
    postgresLibraries: libraries,
  } = fixture.config;
  const driver = new PostgresDriver({
    url: new URL(postgresUrl),
    published: undefined,
    secretKey,
    programs: { folder, libraries },
  });
  const instance = { id: "kept", planId: nano.planId, parameters: {} } as Instance;
  const look = async () => {
    const [found] = await Array.fromAsync(driver.activity([instance]));
    return found?.[1];
  };
  const before = await look();
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await driver.dump(instance, nowhere, AbortSignal.timeout(60_000));
  const after = await look();
  assert.ok(before !== undefined && after !== undefined);
  assert.deepEqual([after.sessions - before.sessions, after.own, after.isOpen], [1, 1, false]);
});

test("an instance that is gone leaves no activity behind", async () => {
  await provisioned("gone");
  await known("gone");
  await fixture.deprovisioned("gone");
  const rows = await query(
    fixture.adminOf("klutch_broker"),
    "select 1 from activities where instance_id = 'gone'",
  );
  assert.deepEqual(rows, []);
});
