/** Servers that applications elsewhere reach, after the operator was on loopback before. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TcpProxy, waitFor } from "@klutch/kube-testing";
import { Client } from "pg";
import { postgresqls, serviceBindings } from "./kinds.ts";
import { nano, Fixture } from "./testing/fixture.ts";

let fixture: Fixture;
before(async () => {
  fixture = await Fixture.start("team");
});
after(() => fixture[Symbol.asyncDispose]());

test("an operator that is told where servers are reached moves the existing ones, and their Secrets follow", async () => {
  const at = { namespace: "team", name: "orders" };
  await fixture.create(postgresqls, "team", "orders", nano);
  await fixture.createBinding("team", "app", at);
  await fixture.becomes(serviceBindings, { namespace: "team", name: "app" }, true, "status", "implemented");
  assert.equal(await fixture.credential("team", "app", "host"), "127.0.0.1");
  const ca = await fixture.credential("team", "app", "cacrt");
  await fixture.query("team", "app", "create table t as select 42 as a");
  await fixture.stopOperator();
  await fixture.startOperator("--data-listen=127.0.0.2", "--data-ports=16500-16999");
  await waitFor(
    "the Secret to name the new place",
    async () => (await fixture.credential("team", "app", "host")) === "127.0.0.2",
  );
  const port = Number(await fixture.credential("team", "app", "port"));
  assert.ok(port >= 16_500 && port <= 16_999);
  assert.equal(await fixture.credential("team", "app", "cacrt"), ca);
  const tls = { ca, host: "127.0.0.2" };
  assert.deepEqual(await fixture.query("team", "app", "select a from t", { tls }), [42]);
});

test("a stranger who knows the name of an account in charge is not even asked for its password", async () => {
  const origin = { address: "127.0.0.3", identity: "" };
  const port = await fixture.credential("team", "app", "port");
  await using wire = await TcpProxy.start(`tcp://127.0.0.1:${port}`, {
    originOf: () => Promise.resolve(origin),
  });
  const outside = { host: "127.0.0.1", port: Number(new URL(wire.url).port), password: "wrong" };
  const tries = async (user: string, database: string): Promise<void> => {
    const client = new Client({ ...outside, user, database });
    client.on("error", () => undefined);
    await client.connect();
    await client.end();
  };
  const username = await fixture.credential("team", "app", "username");
  await assert.rejects(tries(username, "a9s_apps_default_db"), /password authentication failed/);
  for (const user of ["postgres", "a8s_keeper", "a8s_replicator"])
    await assert.rejects(tries(user, "postgres"), /pg_hba\.conf rejects connection for host "127\.0\.0\.3"/);
});
