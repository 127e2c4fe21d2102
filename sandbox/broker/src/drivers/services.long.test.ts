/** Services through the broker's own process, which is killed, and the checks of packages/osb against it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { reservePorts, startPostgres, startProcess } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { createOsbClient, isGone, type OsbClient } from "@klutch/osb";
import { backedUp, clientOf, restored } from "../testing/backups.ts";
import { login, sql } from "../testing/applications.ts";
import { openFolder } from "../testing/servers.ts";
import { rabbitmqPatienceMs } from "./rabbitmq-server.ts";

const run = promisify(execFile);
const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = stack.use(await openFolder());
const postgres = stack.use(await startPostgres());
const [port = 0, probePort = 0] = stack.use(await reservePorts(2)).ports;
const url = `http://127.0.0.1:${port}`;
const dataFolder = join(folder.path, "servers");

const start = () =>
  startProcess({
    name: "broker",
    command: process.execPath,
    args: [join(import.meta.dirname, "../main.ts")],
    env: {
      BROKER_POSTGRES_URL: postgres.url,
      BROKER_USERNAME: "u",
      BROKER_PASSWORD: "p",
      BROKER_SECRET_KEY: "0123456789abcdef0123456789abcdef",
      BROKER_LISTEN: `127.0.0.1:${port}`,
      BROKER_PROBE_LISTEN: `127.0.0.1:${probePort}`,
      BROKER_DATA_FOLDER: dataFolder,
      BROKER_SERVICES: "prometheus,mongodb,messaging,search,logme2",
      BROKER_BACKUP_FOLDER: join(folder.path, "backups"),
    },
    logFile: join(folder.path, "broker.log"),
    ready: async () => (await fetch(`${url}/healthz`)).ok,
  });
let broker = await start();
stack.defer(() => broker[Symbol.asyncDispose]());
const osb: OsbClient = stack.use(
  createOsbClient({ url, auth: { kind: "basic", username: "u", password: "p" } }),
);
const { services } = await osb.catalog();

function planOf(
  serviceName: string,
  planName: string,
): { readonly serviceId: string; readonly planId: string } {
  const service = services.find(({ name }) => name === serviceName);
  const plan = service?.plans.find(({ name }) => name === planName);
  assert.ok(service !== undefined && plan !== undefined, `${serviceName} ${planName}`);
  return { serviceId: service.id, planId: plan.id };
}

async function provisioned(instanceId: string, plan: ReturnType<typeof planOf>): Promise<void> {
  await osb.provision({ ...plan, instanceId, organizationGuid: "o", spaceGuid: "s" });
  await waitFor(
    `the provision of ${instanceId}`,
    async () => {
      const { state, description } = await osb.lastOperation({ instanceId });
      assert.notEqual(state, "failed", description);
      return state === "succeeded";
    },
    { timeoutMs: rabbitmqPatienceMs },
  );
}

async function bound(
  instanceId: string,
  plan: ReturnType<typeof planOf>,
): Promise<Readonly<Record<string, unknown>>> {
  const outcome = await osb.bind({ ...plan, instanceId, bindingId: `${instanceId}-1` });
  assert.ok(outcome.kind === "done" && outcome.credentials !== undefined);
  return outcome.credentials;
}

/** Processes whose command line names a file of our servers. */
async function serverPids(): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of (await readdir("/proc")).filter((each) => /^\d+$/.test(each))) {
    const command = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
    const isServer =
      /^\S*(?:mariadbd|redis-server|prometheus|beam|java|\/programs\/)/.test(command) &&
      command.includes(dataFolder);
    if (isServer) found.push(Number(name));
  }
  return found.toSorted((left, right) => left - right);
}

const maria = planOf("a9s-mariadb1011", "mariadb-single-nano-ssl");
const keyvalue = planOf("a9s-keyvalue8", "keyvalue-single-nano-ssl");
const messaging = planOf("a9s-messaging310", "messaging-single-nano-ssl");

test("the catalog has the services with their plans", () => {
  const names = new Map(services.map(({ name, plans }) => [name, plans.map((plan) => plan.name)]));
  assert.deepEqual(
    [...names.keys()],
    [
      "a9s-postgresql17",
      "a9s-mariadb106",
      "a9s-mariadb1011",
      "a9s-keyvalue8",
      "klutch-objectstorage",
      "a9s-prometheus",
      "a9s-messaging310",
      "a9s-mongodb70",
      "a9s-search2",
      "a9s-logme2",
    ],
  );
  assert.equal(names.get("a9s-mariadb106")?.length, 10);
  assert.ok(names.get("a9s-mariadb1011")?.every((name) => name.endsWith("-ssl")));
  assert.equal(names.get("a9s-keyvalue8")?.length, 7);
  assert.deepEqual(names.get("a9s-prometheus"), ["prometheus-single-small", "prometheus-single-big"]);
  const sizes = ["nano", "small", "big"].map((size) => `mongodbsspl-single-${size}`);
  assert.deepEqual(names.get("a9s-mongodb70"), [...sizes, ...sizes.map((name) => `${name}-ssl`)]);
  const ids = services.flatMap(({ id, plans }) => [id, ...plans.map((plan) => plan.id)]);
  assert.equal(new Set(ids).size, ids.length);
});

test("a broker that is killed leaves no server behind; the next one has one for each instance, with the same data, port and passwords", async () => {
  await Promise.all([
    provisioned("shop", maria),
    provisioned("cache", keyvalue),
    provisioned("queue", messaging),
  ]);
  const [shop, cache] = await Promise.all([bound("shop", maria), bound("cache", keyvalue)]);
  const queue = await bound("queue", messaging);
  await sql(shop, "create table t (a int primary key); insert into t values (42)");
  {
    using connection = await login(cache);
    await connection.send("SET", "a", "42");
  }
  const before = await serverPids();
  assert.equal(before.length, 3);
  await broker.kill();
  broker = await start();
  await waitFor("the data", async () => (await sql(shop, "select a from t").catch(() => []))[0] === "42");
  await waitFor("the other data", async () => {
    const connection = await login(cache).catch(() => undefined);
    if (connection === undefined) return false;
    using used = connection;
    return (await used.send("GET", "a")) === "42";
  });
  // A server of the killed broker may take some seconds to end.
  await waitFor("three servers that are new", async () => {
    const pids = await serverPids();
    return pids.length === 3 && !pids.some((pid) => before.includes(pid));
  });
  assert.deepEqual((await osb.fetchBinding("shop", "shop-1")).credentials, shop);
  assert.deepEqual(await bound("queue", messaging), queue);
  await broker.kill();
  await waitFor("the servers to end without a broker", async () => (await serverPids()).length === 0);
  broker = await start();
});

test("destroyed data is back after a restore by the backup manager, and sessions end, not logins", async () => {
  await using manager = clientOf(`${url}/backup-manager`);
  const [shop, cache] = [await bound("shop", maria), await bound("cache", keyvalue)];
  const backups = await Promise.all([backedUp(manager, "shop"), backedUp(manager, "cache")]);
  await sql(shop, "drop table t");
  {
    using connection = await login(cache);
    await connection.send("FLUSHALL");
  }
  await Promise.all([restored(manager, "shop", backups[0]), restored(manager, "cache", backups[1])]);
  assert.deepEqual(await sql(shop, "select a from t"), ["42"]);
  using connection = await login(cache);
  assert.equal(await connection.send("GET", "a"), "42");
});

test("bad input is refused by name, and a plan of another service, too", async () => {
  const place = { organizationGuid: "o", spaceGuid: "s", instanceId: "bad" };
  for (const [plan, parameters, message] of [
    [maria, { databases: ["mysql"] }, /parameters\.databases\[0\] is "mysql"/],
    [maria, { databases: "shop" }, /parameters\.databases is "shop", but a list of names is needed/],
    [maria, { binlog_expire_days: 0 }, /parameters\.binlog_expire_days is 0, but a whole number from 1/],
    [
      maria,
      { max_connections: 1 },
      /parameters\.max_connections is not supported.*possible: binlog_expire_days/,
    ],
    [
      keyvalue,
      { "maxmemory-policy": "all" },
      /parameters\.maxmemory-policy is "all", but one of volatile-lru/,
    ],
    [keyvalue, { snapshot: ["save 1 1\nrequirepass x"] }, /parameters\.snapshot\[0\]/],
    [keyvalue, { "tls-ciphers": "a\nb" }, /parameters\.tls-ciphers/],
    [{ ...maria, planId: keyvalue.planId }, {}, /is not a plan of service_id/],
  ] as const)
    await assert.rejects(osb.provision({ ...plan, ...place, parameters }), {
      status: 400,
      description: message,
    });
  await assert.rejects(osb.update({ ...keyvalue, instanceId: "shop" }), { status: 400 });
});

for (const [service, plan, other, parameters] of [
  ["a9s-mariadb1011", "mariadb-single-nano-ssl", "mariadb-single-small-ssl", '{"databases":["more"]}'],
  [
    "a9s-keyvalue8",
    "keyvalue-single-nano-ssl",
    "keyvalue-single-small-ssl",
    '{"maxmemory-policy":"allkeys-lru"}',
  ],
  [
    "a9s-prometheus",
    "prometheus-single-small",
    "prometheus-single-big",
    '{"scrape_configs":[{"job_name":"self"}]}',
  ],
  ["a9s-messaging310", "messaging-single-nano-ssl", "messaging-single-small-ssl", undefined],
  ["a9s-mongodb70", "mongodbsspl-single-nano", "mongodbsspl-single-small", undefined],
  ["a9s-search2", "search-single-nano-ssl", "search-single-small-ssl", '{"tls-protocols":["TLSv1.3"]}'],
] as const)
  test(`the broker keeps every rule with ${service}, and nothing is left of the checks`, async () => {
    const before = await serverPids();
    const command = fileURLToPath(import.meta.resolve("@klutch/osb-conformance/main"));
    const what = [
      `--service=${service}`,
      `--plan=${plan}`,
      `--other-plan=${other}`,
      ...(parameters === undefined ? [] : [`--parameters=${parameters}`]),
    ];
    const { stdout } = await run(
      process.execPath,
      [command, "--url", url, "--username", "u", "--json", ...what],
      {
        env: { OSB_PASSWORD: "p" },
      },
    ).catch((error: unknown) => ({
      stdout: error instanceof Error && "stdout" in error ? String(error.stdout) : "",
    }));
    const { findings } = JSON.parse(stdout) as {
      readonly findings: readonly { readonly id: string; readonly result: string; readonly why: string }[];
    };
    assert.deepEqual(
      findings.filter(({ result }) => result === "failed"),
      [],
    );
    assert.ok(findings.filter(({ result }) => result === "passed").length >= 50);
    assert.deepEqual(await serverPids(), before);
  });

test("deprovisioning ends the servers and leaves no folder", async () => {
  for (const [instanceId, plan] of [
    ["shop", maria],
    ["cache", keyvalue],
    ["queue", messaging],
  ] as const) {
    await osb.unbind({ ...plan, instanceId, bindingId: `${instanceId}-1` });
    await osb.deprovision({ ...plan, instanceId });
    await waitFor(`${instanceId} to be gone`, async () => {
      const answer = await osb
        .lastOperation({ instanceId, operation: "deprovision" })
        .catch((error: unknown) => {
          assert.ok(isGone(error), String(error));
        });
      assert.notEqual(answer?.state, "failed", answer?.description ?? "");
      return answer === undefined;
    });
  }
  assert.deepEqual(await serverPids(), []);
  assert.ok(!(await readdir(dataFolder)).includes("messaging"));
  for (const kind of ["mariadb", "keyvalue"]) assert.deepEqual(await readdir(join(dataFolder, kind)), []);
});
