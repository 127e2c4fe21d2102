import assert from "node:assert/strict";
import { access, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { ConnectionOptions } from "node:tls";
import { type DynamicObject, recordAt, secrets } from "@klutch/kube-core";
import { secretObject, waitFor } from "@klutch/kube-testing";
import { backups, postgresqls, restores, serviceBindings } from "./kinds.ts";
import { nano, Fixture } from "./testing/fixture.ts";

let fixture: Fixture;
before(async () => {
  fixture = await Fixture.start("team", "other");
});
after(() => fixture[Symbol.asyncDispose]());

const at = (name: string): { readonly namespace: string; readonly name: string } => ({
  namespace: "team",
  name,
});

async function instance(name: string, parameters: object = {}): Promise<void> {
  await fixture.create(postgresqls, "team", name, { ...nano, parameters });
  await fixture.becomes(postgresqls, at(name), 1, "status", "readyReplicas");
}

async function bound(name: string, to: string): Promise<void> {
  await fixture.createBinding("team", name, at(to));
  await fixture.becomes(serviceBindings, at(name), true, "status", "implemented");
}

test("rows that were destroyed are back after a restore, and the login that made them goes on", async () => {
  await instance("orders", { maxConnections: 17, statementTimeoutMillis: 5000 });
  await bound("app", "orders");
  const secret = await fixture.cluster.client.get<DynamicObject>(secrets, at("app-service-binding"));
  assert.deepEqual(Object.keys(recordAt(secret, "data")).toSorted(), [
    "cacrt",
    "host",
    "hosts",
    "name",
    "password",
    "port",
    "uri",
    "username",
  ]);
  assert.equal(secret.metadata.labels?.["service-binding"], "true");
  assert.deepEqual(await fixture.query("team", "app", "show statement_timeout"), ["5s"]);
  await fixture.query("team", "app", "create table rows as select generate_series(1, 3) as number");
  await fixture.createJob(backups, "team", "monday", { instance: "orders" });
  await fixture.ready(backups, at("monday"), "True");
  await fixture.query("team", "app", "drop table rows");
  await fixture.createJob(restores, "team", "undo", { instance: "orders", backupName: "monday" });
  await fixture.ready(restores, at("undo"), "True");
  assert.deepEqual(await fixture.query("team", "app", "select number from rows"), [1, 2, 3]);
});

test("a server has a certificate of the operator's own authority, and obeys which TLS it may speak", async () => {
  const sslCiphers = "ECDHE-ECDSA-AES128-GCM-SHA256";
  await instance("sealed", { sslMinProtocolVersion: "TLSv1.2", sslCiphers });
  await bound("reader", "sealed");
  const folder = join(fixture.folder, "data", "authority");
  assert.equal((await stat(join(folder, "ca.key"))).mode & 0o777, 0o600);
  const ca = await readFile(join(folder, "ca.crt"), "utf8");
  // A client that is given these options speaks nothing else.
  const asked = (tls: ConnectionOptions): Promise<readonly unknown[]> =>
    fixture.query("team", "reader", "select 1", { tls });
  assert.deepEqual(await asked({ ca, maxVersion: "TLSv1.2", ciphers: sslCiphers }), [1]);
  // An application that trusts only other authorities is not fooled.
  await assert.rejects(asked({}), /self-signed certificate in certificate chain|unable to verify/);
  await assert.rejects(asked({ ca, maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES256-GCM-SHA384" }));
  const parameters = { sslMinProtocolVersion: "TLSv1.3", sslCiphers: null };
  await fixture.cluster.client.mergePatch(postgresqls, at("sealed"), { spec: { parameters } });
  await fixture.becomes(postgresqls, at("sealed"), 2, "status", "observedGeneration");
  await assert.rejects(asked({ ca, maxVersion: "TLSv1.2" }), /protocol version/);
  assert.deepEqual(await asked({ ca, minVersion: "TLSv1.3" }), [1]);
  // Applications that do not ask for TLS connect as before.
  assert.deepEqual(await fixture.query("team", "reader", "select 1"), [1]);
});

test("an operator that is killed in a restore finishes it once, with the server at its port", async () => {
  await instance("ledger");
  await bound("clerk", "ledger");
  await fixture.query("team", "clerk", "create table rows as select generate_series(1, 50000) as number");
  await fixture.createJob(backups, "team", "before", { instance: "ledger" });
  await fixture.ready(backups, at("before"), "True");
  await fixture.query("team", "clerk", "truncate rows");
  const uriBefore = await fixture.query("team", "clerk", "select inet_server_port()");
  await fixture.createJob(restores, "team", "again", { instance: "ledger", backupName: "before" });
  await waitFor(
    "the restore to have begun",
    async () => {
      const names = await fixture.query(
        "team",
        "clerk",
        "select count(*)::int from pg_database where datname like 'a9s_apps_default_db_staging%'",
      );
      return names[0] !== 0;
    },
    { intervalMs: 5 },
  );
  await fixture.killOperator();
  await fixture.startOperator();
  await fixture.ready(restores, at("again"), "True");
  assert.deepEqual(await fixture.query("team", "clerk", "select count(*)::int from rows"), [50_000]);
  assert.deepEqual(await fixture.query("team", "clerk", "select inet_server_port()"), uriBefore);
  // Rows written after the restore stay, also when the operator starts again.
  await fixture.query("team", "clerk", "insert into rows values (-1)");
  await fixture.killOperator();
  await fixture.startOperator();
  const count = "select count(*)::int from rows";
  await waitFor(
    "the server to run again",
    async () => (await fixture.query("team", "clerk", count))[0] === 50_001,
  );
});

test("a binding never gets another namespace's database, another owner's Secret or another instance's data", async () => {
  await instance("mine");
  await fixture.createBinding("other", "thief", at("mine"));
  await fixture.ready(
    serviceBindings,
    { namespace: "other", name: "thief" },
    "False",
    /spec\.instance\.namespace is team; a binding is of an instance in its own namespace, other/,
  );
  await fixture.cluster.client.create(
    secrets,
    secretObject("team", "taken-service-binding", { kept: "yes" }),
  );
  await fixture.createBinding("team", "taken", at("mine"));
  await fixture.ready(
    serviceBindings,
    at("taken"),
    "False",
    /the Secret taken-service-binding is there and is not this binding's; remove it/,
  );
  const secret = await fixture.cluster.client.get<DynamicObject>(secrets, at("taken-service-binding"));
  assert.deepEqual(Object.keys(recordAt(secret, "data")), ["kept"]);
  await fixture.createJob(backups, "team", "of-mine", { instance: "mine" });
  await fixture.ready(backups, at("of-mine"), "True");
  await instance("target");
  await fixture.createJob(restores, "team", "mix", { instance: "target", backupName: "of-mine" });
  await fixture.ready(restores, at("mix"), "False", /only backups of target go into target/);
  await fixture.createJob(backups, "other", "spy", { instance: "mine" });
  await fixture.ready(
    backups,
    { namespace: "other", name: "spy" },
    "False",
    /no instance mine in namespace other/,
  );
});

test("a parameter that is none is named, and more servers than there can be are refused", async () => {
  await fixture.create(postgresqls, "team", "wild", {
    ...nano,
    parameters: { archive_command: "touch /tmp/x" },
  });
  await fixture.ready(
    postgresqls,
    at("wild"),
    "False",
    /spec\.parameters\.archive_command is no parameter; possible: maxConnections, /,
  );
  await fixture.becomes(postgresqls, at("wild"), 0, "status", "readyReplicas");
  await assert.rejects(
    fixture.create(postgresqls, "team", "crowd", { ...nano, replicas: 9 }),
    /spec\.replicas: Invalid value: 9/,
  );
});

test("an instance goes after its bindings, and takes server, data and logins with it", async () => {
  await instance("short");
  await bound("user", "short");
  const folder = join(fixture.folder, "data", "instances");
  const { uid = "" } = (await fixture.cluster.client.get(postgresqls, at("short"))).metadata;
  await access(join(folder, `${uid}.json`));
  await fixture.cluster.client.delete(postgresqls, at("short"));
  await fixture.warned("short", /still bound by user; delete these ServiceBindings first/);
  await fixture.query("team", "user", "select 1");
  await fixture.cluster.client.delete(serviceBindings, at("user"));
  await fixture.gone(serviceBindings, at("user"));
  await fixture.gone(postgresqls, at("short"));
  assert.equal(await fixture.cluster.client.find(secrets, at("user-service-binding")), undefined);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith(uid)),
    [],
  );
});
