import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startPostgres } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { createOsbClient, isConcurrency, isGone, OsbError } from "@klutch/osb";
import { silentLogger } from "@klutch/telemetry";
import { startBroker } from "./broker.ts";
import { query } from "./testing/world.ts";

const postgres = await startPostgres();
const secretKey = "0123456789abcdef0123456789abcdef";
const config = {
  host: "127.0.0.1",
  port: 0,
  postgresUrl: postgres.url,
  username: "u",
  password: "p",
  secretKey,
};
const auth = { kind: "basic", username: "u", password: "p" } as const;
let broker = await startBroker(config, silentLogger);
const url = (): string => `http://127.0.0.1:${broker.port}`;
let osb = createOsbClient({ url: url(), auth });
after(async () => {
  await osb[Symbol.asyncDispose]();
  await broker[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

const [service] = (await osb.catalog()).services;
assert.ok(service !== undefined);
const planId = (name: string): string => service.plans.find((plan) => plan.name === name)?.id ?? "";
const plan = { serviceId: service.id, planId: planId("postgresql-single-nano") };
const place = { organizationGuid: "o", spaceGuid: "s" };

async function finished(instanceId: string): Promise<void> {
  await waitFor(`the operation on ${instanceId}`, async () => {
    const { state, description } = await osb.lastOperation({ instanceId });
    assert.notEqual(state, "failed", description);
    return state === "succeeded";
  });
}

async function provisioned(instanceId: string): Promise<void> {
  await osb.provision({ ...plan, ...place, instanceId });
  await finished(instanceId);
}

async function bound(instanceId: string, bindingId: string): Promise<string> {
  const outcome = await osb.bind({ ...plan, instanceId, bindingId });
  assert.ok(outcome.kind === "done");
  return String(outcome.credentials["uri"]);
}

async function count(table: string, column: string, prefix: string): Promise<number> {
  const rows = await query(
    postgres.url,
    `select count(*)::int as n from ${table} where ${column} ~ '^${prefix}[0-9a-f]{32}$'`,
  );
  assert.ok(Array.isArray(rows));
  return (rows[0] as { n: number }).n;
}

test("a binding's credentials work, and what it made outlives it for the next binding", async () => {
  await provisioned("life");
  const first = await bound("life", "life-1");
  await query(first, "create table t (a int)", "insert into t values (42)");
  const second = await bound("life", "life-2");
  assert.deepEqual(await query(second, "select a from t"), [{ a: 42 }]);
  await osb.unbind({ ...plan, instanceId: "life", bindingId: "life-1" });
  await assert.rejects(query(first, "select 1"), /authentication failed|does not exist|not permitted/);
  assert.deepEqual(await query(second, "select a from t"), [{ a: 42 }]);
  await osb.unbind({ ...plan, instanceId: "life", bindingId: "life-2" });
  assert.deepEqual(await osb.deprovision({ ...plan, instanceId: "life" }), {
    kind: "accepted",
    operation: "deprovision",
    retryAfterMs: undefined,
  });
  await assert.rejects(
    waitFor(
      "the instance to be gone",
      async () => {
        const { state } = await osb.lastOperation({ instanceId: "life", operation: "deprovision" });
        assert.equal(state, "in progress");
        return false;
      },
      { timeoutMs: 1500 },
    ),
  );
  await assert.rejects(osb.lastOperation({ instanceId: "life", operation: "deprovision" }), isGone);
  assert.equal(await count("pg_database", "datname", "i"), 0);
  assert.equal(await count("pg_roles", "rolname", "[ou]"), 0);
});

test("bindings reach neither another instance's database nor the broker's", async () => {
  await provisioned("left");
  await provisioned("right");
  const left = await bound("left", "left-1");
  const right = new URL(await bound("right", "right-1"));
  for (const name of [right.pathname.slice(1), "klutch_broker", "postgres"]) {
    const other = new URL(left);
    other.pathname = `/${name}`;
    await assert.rejects(query(other.href, "select 1"), /permission denied for database/);
  }
});

test("repeating a request gives the same answer, another plan is a conflict", async () => {
  await provisioned("again");
  assert.deepEqual(await osb.provision({ ...plan, ...place, instanceId: "again" }), { kind: "done" });
  const other = { ...plan, planId: planId("postgresql-single-small") };
  await assert.rejects(osb.provision({ ...other, ...place, instanceId: "again" }), { status: 409 });
  const uri = await bound("again", "again-1");
  assert.equal(await bound("again", "again-1"), uri);
  assert.deepEqual((await osb.fetchBinding("again", "again-1")).credentials?.["uri"], uri);
});

test("a plan and parameters can be changed; the server applies them to the database", async () => {
  await provisioned("change");
  await osb.update({
    ...plan,
    planId: planId("postgresql-single-big"),
    instanceId: "change",
    parameters: { statement_timeout: 1234, work_mem: "6MB" },
  });
  await finished("change");
  const uri = await bound2("change", "change-1", planId("postgresql-single-big"));
  assert.deepEqual(await query(uri, "show statement_timeout"), [{ statement_timeout: "1234ms" }]);
  await osb.update({
    ...plan,
    planId: planId("postgresql-single-big"),
    instanceId: "change",
    parameters: { statement_timeout: null },
  });
  await finished("change");
  assert.deepEqual(await query(uri, "show statement_timeout"), [{ statement_timeout: "0" }]);
  assert.deepEqual((await osb.fetchInstance("change")).parameters, { work_mem: "6MB" });
});

async function bound2(instanceId: string, bindingId: string, plan2: string): Promise<string> {
  const outcome = await osb.bind({ serviceId: plan.serviceId, planId: plan2, instanceId, bindingId });
  assert.ok(outcome.kind === "done");
  return String(outcome.credentials["uri"]);
}

test("bad input is refused with the field's name and leaves nothing", async () => {
  const refused = async (change: object, message: RegExp): Promise<void> => {
    await assert.rejects(osb.provision({ ...plan, ...place, instanceId: "bad", ...change }), (error) => {
      assert.ok(error instanceof OsbError && error.status === 400, String(error));
      assert.match(error.description, message);
      return true;
    });
  };
  await refused({ planId: "nope" }, /plan_id "nope" is not in the catalog/);
  await refused({ serviceId: "nope" }, /service_id "nope"/);
  await refused({ organizationGuid: "" }, /organization_guid is missing/);
  await refused(
    { parameters: { wal_level_logical: true } },
    /parameters\.wal_level_logical is not supported/,
  );
  await refused({ parameters: { work_mem: "1; drop table x" } }, /parameters\.work_mem/);
  await refused({ instanceId: "with space" }, /instance id/);
  await assert.rejects(osb.provision({ ...plan, ...place, instanceId: "bad", acceptsIncomplete: false }), {
    error: "AsyncRequired",
  });
  await assert.rejects(osb.fetchInstance("bad"), isGone);
  await assert.rejects(osb.bind({ ...plan, instanceId: "bad", bindingId: "b" }), isGone);
  await using stranger = createOsbClient({ url: url(), auth: { ...auth, password: "wrong" } });
  await assert.rejects(stranger.catalog(), { status: 401 });
  await using old = createOsbClient({ url: url(), auth, apiVersion: "2.11" });
  await assert.rejects(old.catalog(), { status: 412 });
});

test("a broker that ends in the middle of a provision takes it up again", async () => {
  await osb.provision({ ...plan, ...place, instanceId: "crash" });
  await assert.rejects(
    (async () => {
      await osb.bind({ ...plan, instanceId: "crash", bindingId: "c" });
      await osb.bind({ ...plan, instanceId: "none", bindingId: "c" });
    })(),
    (error) => isConcurrency(error) || isGone(error),
  );
  // As after a crash: what was running is marked so, and nothing works on it.
  await broker[Symbol.asyncDispose]();
  await osb[Symbol.asyncDispose]();
  const admin = new URL(postgres.url);
  admin.pathname = "/klutch_broker";
  await query(admin.href, "update instances set state = 'in progress' where id = 'crash'");
  broker = await startBroker(config, silentLogger);
  osb = createOsbClient({ url: url(), auth });
  await finished("crash");
  assert.deepEqual(await query(await bound("crash", "crash-1"), "select 1 as one"), [{ one: 1 }]);
});
