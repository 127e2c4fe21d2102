/** The broker against the checks of packages/osb, which are written from the specification. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { waitFor } from "@klutch/kube-testing";
import { auth, nano, query, startWorld } from "./testing/world.ts";

const world = await startWorld();
after(() => world[Symbol.asyncDispose]());

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
    [command, "--url", world.brokerUrl, "--username", auth.username, "--json", ...args],
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
    world.adminUrl,
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
  const child = spawn(process.execPath, [command, "--url", world.brokerUrl, "--username", auth.username], {
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

test("a binding's parameters are refused by name, because none would count", async () => {
  await world.provisioned("bare");
  const binding = { ...nano, instanceId: "bare", bindingId: "bare-1" };
  await assert.rejects(world.osb.bind({ ...binding, parameters: { role: "reader" } }), {
    status: 400,
    description: "parameters.role is not supported; bindings have no parameters",
  });
  assert.equal((await world.osb.bind({ ...binding, parameters: {} })).kind, "done");
  await world.unbind("bare", "bare-1");
  await world.deprovisioned("bare");
});
