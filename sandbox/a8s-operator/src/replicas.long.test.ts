import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { waitFor } from "@klutch/kube-testing";
import { backups, postgresqls, restores, serviceBindings } from "./kinds.ts";
import { nano, Fixture } from "./testing/fixture.ts";

let fixture: Fixture;
const ref = { namespace: "team", name: "ledger" } as const;
const rows = "select count(*)::int from rows";
before(async () => {
  fixture = await Fixture.start("team");
  await fixture.create(postgresqls, "team", "ledger", { ...nano, replicas: 3 });
  await fixture.becomes(postgresqls, ref, 3, "status", "readyReplicas");
  await fixture.createBinding("team", "clerk", ref);
  await fixture.becomes(serviceBindings, { namespace: "team", name: "clerk" }, true, "status", "implemented");
  await fixture.query("team", "clerk", "create table rows as select generate_series(1, 3) as number");
});
after(() => fixture[Symbol.asyncDispose]());

const write = (): Promise<unknown> => fixture.query("team", "clerk", "insert into rows values (0)");

/** Waits until each standby has `count` rows. */
async function allHave(count: number): Promise<void> {
  for (const standby of [1, 2])
    await waitFor(`standby ${standby} to have ${count} rows`, async () => {
      const { port } = await fixture.serverOf("team", "ledger", standby);
      return (await fixture.query("team", "clerk", rows, { port }))[0] === count;
    });
}

test("rows written on the server that writes are read on its standbys, which take no writes", async () => {
  await fixture.ready(postgresqls, ref, "True");
  await allHave(3);
  const { port } = await fixture.serverOf("team", "ledger", 1);
  await assert.rejects(
    fixture.query("team", "clerk", "insert into rows values (0)", { port }),
    /cannot execute INSERT in a read-only transaction/,
  );
});

test("standbys are reached by TLS as the server is", async () => {
  const ca = await readFile(join(fixture.folder, "data", "authority", "ca.crt"), "utf8");
  const { port } = await fixture.serverOf("team", "ledger", 2);
  assert.deepEqual(await fixture.query("team", "clerk", "select 1", { port, tls: { ca } }), [1]);
});

test("a standby that is killed comes back and catches up; so does the server that writes, and they follow it", async () => {
  const before = Number((await fixture.query("team", "clerk", rows))[0]);
  const standby = await fixture.serverOf("team", "ledger", 2);
  process.kill(standby.pid, "SIGKILL");
  await write();
  await waitFor(
    "another process",
    async () => (await fixture.serverOf("team", "ledger", 2)).pid !== standby.pid,
  );
  await allHave(before + 1);
  const primary = await fixture.serverOf("team", "ledger");
  process.kill(primary.pid, "SIGKILL");
  await waitFor(
    "another process",
    async () => (await fixture.serverOf("team", "ledger")).pid !== primary.pid,
  );
  await waitFor("a write", write);
  await allHave(before + 2);
  assert.equal((await fixture.serverOf("team", "ledger")).port, primary.port);
  await fixture.becomes(postgresqls, ref, 3, "status", "readyReplicas");
});

test("a restore reaches the standbys, and smaller bounds make no standby stay away", async () => {
  const [before] = await fixture.query("team", "clerk", rows);
  await fixture.createJob(backups, "team", "monday", { instance: "ledger" });
  await fixture.ready(backups, { namespace: "team", name: "monday" }, "True");
  await fixture.query("team", "clerk", "truncate rows");
  await fixture.createJob(restores, "team", "undo", { instance: "ledger", backupName: "monday" });
  await fixture.ready(restores, { namespace: "team", name: "undo" }, "True");
  await allHave(Number(before));
  await fixture.cluster.client.mergePatch(postgresqls, ref, { spec: { parameters: { maxConnections: 20 } } });
  await waitFor("fewer connections", async () => {
    const { port } = await fixture.serverOf("team", "ledger", 2);
    const shown = await Promise.all([
      fixture.query("team", "clerk", "show max_connections"),
      fixture.query("team", "clerk", "show max_connections", { port }),
    ]);
    return shown.every(([value]) => value === "25");
  });
  await fixture.becomes(postgresqls, ref, 3, "status", "readyReplicas");
});

test("standbys go when fewer servers are asked for, and all with their instance", async () => {
  const folder = join(fixture.folder, "data", "instances");
  const homes = async (): Promise<number> =>
    (await readdir(folder)).filter((name) => name.includes("standby")).length;
  assert.equal(await homes(), 2);
  await fixture.cluster.client.mergePatch(postgresqls, ref, { spec: { replicas: 2 } });
  await fixture.becomes(postgresqls, ref, 2, "status", "readyReplicas");
  assert.equal(await homes(), 1);
  await fixture.cluster.client.delete(serviceBindings, { namespace: "team", name: "clerk" });
  await fixture.gone(serviceBindings, { namespace: "team", name: "clerk" });
  await fixture.cluster.client.delete(postgresqls, ref);
  await fixture.gone(postgresqls, ref);
  assert.deepEqual(await readdir(folder), []);
});
