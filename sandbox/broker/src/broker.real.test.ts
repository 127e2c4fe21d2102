/** The broker over HTTP with PostgreSQL: its rules, and the checks of packages/osb, which are written from the specification. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { waitFor } from "@klutch/kube-testing";
import { createOsbClient, isConcurrency, isGone, OsbError } from "@klutch/osb";
import { auth, nano as plan, place, planOf, query, startFixture } from "./testing/fixture.ts";

const fixture = await startFixture();
after(() => fixture[Symbol.asyncDispose]());
const { provisioned, finished, bound, adminUrl } = fixture;

const command = fileURLToPath(import.meta.resolve("@klutch/osb-conformance/main"));

interface Finding {
  readonly id: string;
  readonly result: string;
  readonly why: string;
}

/** Runs the command as a person does. */
async function check(...args: readonly string[]): Promise<{
  readonly code: number | null;
  readonly findings: readonly Finding[];
  readonly stoppedBy: unknown;
}> {
  const child = spawn(
    process.execPath,
    [command, "--url", fixture.brokerUrl, "--username", auth.username, "--json", ...args],
    { env: { OSB_PASSWORD: auth.password }, stdio: ["ignore", "pipe", "pipe"] },
  );
  const closed = once(child, "close");
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.notEqual(output, "", errors);
  const report = JSON.parse(output) as {
    readonly findings: readonly Finding[];
    readonly stoppedBy: unknown;
  };
  await closed;
  return { code: child.exitCode, ...report };
}

interface Left {
  readonly databases: number;
  readonly roles: number;
}

async function leftInPostgres(): Promise<readonly Left[]> {
  return (await query(
    adminUrl,
    `select (select count(*)::int from pg_database where datname ~ '^i[0-9a-f]{32}$') as databases,
            (select count(*)::int from pg_roles where rolname ~ '^[ou][0-9a-f]{32}$') as roles`,
  )) as readonly Left[];
}

test("the broker keeps every rule that can be tested with it, and nothing is left of the checks", async () => {
  const { code, findings, stoppedBy } = await check();
  const of = (result: string): readonly string[] =>
    findings.filter((finding) => finding.result === result).map(({ id, why }) => `${id}: ${why}`);
  assert.deepEqual(of("failed"), []);
  assert.equal(stoppedBy, undefined);
  assert.equal(code, 0);
  assert.ok(of("passed").length >= 50, String(of("passed").length));
  assert.deepEqual(await leftInPostgres(), [{ databases: 0, roles: 0 }]);
});

test("another plan with parameters keeps them, too", async () => {
  const { code, findings } = await check(
    "--plan=postgresql-single-small",
    "--other-plan=postgresql-single-big",
    '--parameters={"statement_timeout":1234}',
  );
  assert.deepEqual(
    findings.filter(({ result }) => result === "failed"),
    [],
  );
  assert.equal(code, 0);
  assert.deepEqual(await leftInPostgres(), [{ databases: 0, roles: 0 }]);
});

test("Ctrl-C in the middle leaves nothing in PostgreSQL", async () => {
  const child = spawn(process.execPath, [command, "--url", fixture.brokerUrl, "--username", auth.username], {
    env: { OSB_PASSWORD: auth.password },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const closed = once(child, "close");
  const output = text(child.stdout);
  await waitFor("a database to be made", async () => {
    const [made] = await leftInPostgres();
    return made !== undefined && made.databases > 0;
  });
  child.kill("SIGINT");
  await closed;
  assert.equal(child.exitCode, 130, await output);
  assert.match(await output, /^Nothing was left at the broker\.$/m);
  assert.deepEqual(await leftInPostgres(), [{ databases: 0, roles: 0 }]);
});

async function count(table: string, column: string, prefix: string): Promise<number> {
  const rows = await query(
    adminUrl,
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
  await fixture.osb.unbind({ ...plan, instanceId: "life", bindingId: "life-1" });
  await assert.rejects(query(first, "select 1"), /authentication failed|does not exist|not permitted/);
  assert.deepEqual(await query(second, "select a from t"), [{ a: 42 }]);
  await fixture.osb.unbind({ ...plan, instanceId: "life", bindingId: "life-2" });
  assert.deepEqual(await fixture.osb.deprovision({ ...plan, instanceId: "life" }), {
    kind: "accepted",
    operation: "deprovision",
    retryAfterMs: undefined,
  });
  await assert.rejects(
    waitFor(
      "the instance to be gone",
      async () => {
        const { state } = await fixture.osb.lastOperation({ instanceId: "life", operation: "deprovision" });
        assert.equal(state, "in progress");
        return false;
      },
      { timeoutMs: 1500 },
    ),
  );
  await assert.rejects(fixture.osb.lastOperation({ instanceId: "life", operation: "deprovision" }), isGone);
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
  assert.deepEqual(await fixture.osb.provision({ ...plan, ...place, instanceId: "again" }), { kind: "done" });
  const other = { ...plan, planId: planOf("postgresql-single-small").planId };
  await assert.rejects(fixture.osb.provision({ ...other, ...place, instanceId: "again" }), { status: 409 });
  const uri = await bound("again", "again-1");
  assert.equal(await bound("again", "again-1"), uri);
  assert.deepEqual((await fixture.osb.fetchBinding("again", "again-1")).credentials?.["uri"], uri);
});

test("a plan and parameters can be changed; the server applies them to the database", async () => {
  await provisioned("change");
  await fixture.osb.update({
    ...plan,
    planId: planOf("postgresql-single-big").planId,
    instanceId: "change",
    parameters: { statement_timeout: 1234, work_mem: "6MB" },
  });
  await finished("change");
  const uri = await bound2("change", "change-1", planOf("postgresql-single-big").planId);
  assert.deepEqual(await query(uri, "show statement_timeout"), [{ statement_timeout: "1234ms" }]);
  await fixture.osb.update({
    ...plan,
    planId: planOf("postgresql-single-big").planId,
    instanceId: "change",
    parameters: { statement_timeout: null },
  });
  await finished("change");
  assert.deepEqual(await query(uri, "show statement_timeout"), [{ statement_timeout: "0" }]);
  assert.deepEqual((await fixture.osb.fetchInstance("change")).parameters, { work_mem: "6MB" });
});

async function bound2(instanceId: string, bindingId: string, plan2: string): Promise<string> {
  const outcome = await fixture.osb.bind({ serviceId: plan.serviceId, planId: plan2, instanceId, bindingId });
  assert.ok(outcome.kind === "done");
  return String(outcome.credentials["uri"]);
}

test("bad input is refused with the field's name and leaves nothing", async () => {
  const refused = async (change: object, message: RegExp): Promise<void> => {
    await assert.rejects(
      fixture.osb.provision({ ...plan, ...place, instanceId: "bad", ...change }),
      (error) => {
        assert.ok(error instanceof OsbError && error.status === 400, String(error));
        assert.match(error.description, message);
        return true;
      },
    );
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
  await assert.rejects(
    fixture.osb.provision({ ...plan, ...place, instanceId: "bad", acceptsIncomplete: false }),
    {
      error: "AsyncRequired",
    },
  );
  await assert.rejects(fixture.osb.fetchInstance("bad"), isGone);
  await assert.rejects(fixture.osb.bind({ ...plan, instanceId: "bad", bindingId: "b" }), isGone);
  await using stranger = createOsbClient({ url: fixture.brokerUrl, auth: { ...auth, password: "wrong" } });
  await assert.rejects(stranger.catalog(), { status: 401 });
  await using old = createOsbClient({ url: fixture.brokerUrl, auth, apiVersion: "2.11" });
  await assert.rejects(old.catalog(), { status: 412 });
});

test("a broker that ends in the middle of a provision takes it up again", async () => {
  await fixture.osb.provision({ ...plan, ...place, instanceId: "crash" });
  await assert.rejects(
    (async () => {
      await fixture.osb.bind({ ...plan, instanceId: "crash", bindingId: "c" });
      await fixture.osb.bind({ ...plan, instanceId: "none", bindingId: "c" });
    })(),
    (error) => isConcurrency(error) || isGone(error),
  );
  // Leaves the state of a crash: an operation is marked as running, and nothing works on it.
  await fixture.restart(async () => {
    await query(
      fixture.adminOf("klutch_broker"),
      "update instances set state = 'in progress' where id = 'crash'",
    );
  });
  await finished("crash");
  assert.deepEqual(await query(await bound("crash", "crash-1"), "select 1 as one"), [{ one: 1 }]);
});

test("a binding's parameters are refused by name, because none would count", async () => {
  await provisioned("bare");
  const binding = { ...plan, instanceId: "bare", bindingId: "bare-1" };
  await assert.rejects(fixture.osb.bind({ ...binding, parameters: { role: "reader" } }), {
    status: 400,
    description: "parameters.role is not supported; bindings have no parameters",
  });
  assert.equal((await fixture.osb.bind({ ...binding, parameters: {} })).kind, "done");
  await fixture.unbind("bare", "bare-1");
  await fixture.deprovisioned("bare");
});
