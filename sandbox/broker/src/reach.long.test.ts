/** Data servers that are reached from elsewhere: applications that connect as their credentials say, and strangers who try. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { isPortFree, reservePorts, type RunningProcess, startProcess } from "@klutch/engines";
import { TcpProxy, waitFor } from "@klutch/kube-testing";
import { createOsbClient, type OsbClient } from "@klutch/osb";
import { Client, type ClientConfig } from "pg";
import { adminPasswordOf } from "./names.ts";
import { superuserPassword } from "./own-postgres.ts";
import { connectRedis } from "./drivers/keyvalue.ts";
import { login, sql, textsOf } from "./testing/applications.ts";
import { openFolder } from "./testing/servers.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = stack.use(await openFolder());
const [port = 0, probePort = 0] = stack.use(await reservePorts(2)).ports;
const url = `http://127.0.0.1:${port}`;
const secretKey = "0123456789abcdef0123456789abcdef";
/** Source address of connections that seem, to servers, to come from another machine. */
const elsewhere = "127.0.0.3";

type Credentials = Readonly<Record<string, unknown>>;

function start(reach: Readonly<Record<string, string>>): Promise<RunningProcess> {
  return startProcess({
    name: "broker",
    command: process.execPath,
    args: [join(import.meta.dirname, "main.ts")],
    env: {
      BROKER_POSTGRES_FOLDER: join(folder.path, "postgres"),
      BROKER_DATA_FOLDER: join(folder.path, "servers"),
      BROKER_BACKUP_FOLDER: join(folder.path, "backups"),
      BROKER_USERNAME: "u",
      BROKER_PASSWORD: "p",
      BROKER_SECRET_KEY: secretKey,
      BROKER_LISTEN: `127.0.0.1:${port}`,
      BROKER_PROBE_LISTEN: `127.0.0.1:${probePort}`,
      ...reach,
    },
    logFile: join(folder.path, "broker.log"),
    ready: async () => (await fetch(`${url}/healthz`)).ok,
  });
}

const first = { BROKER_DATA_LISTEN: "127.0.0.2", BROKER_DATA_PORTS: "15000-15499" };
let broker = await start(first);
stack.defer(() => broker[Symbol.asyncDispose]());
const osb: OsbClient = stack.use(
  createOsbClient({ url, auth: { kind: "basic", username: "u", password: "p" } }),
);
const { services } = await osb.catalog();

async function made(instanceId: string, serviceName: string, planName: string): Promise<Credentials> {
  const service = services.find(({ name }) => name === serviceName);
  const plan = service?.plans.find(({ name }) => name === planName);
  assert.ok(service !== undefined && plan !== undefined, planName);
  const ids = { instanceId, serviceId: service.id, planId: plan.id };
  await osb.provision({ ...ids, organizationGuid: "o", spaceGuid: "s" });
  await waitFor(`${instanceId} to be made`, async () => {
    const { state, description } = await osb.lastOperation({ instanceId });
    assert.notEqual(state, "failed", description);
    return state === "succeeded";
  });
  const outcome = await osb.bind({ ...ids, bindingId: instanceId });
  assert.ok(outcome.kind === "done" && outcome.credentials !== undefined);
  return outcome.credentials;
}

/** Fetches the binding, as the provider does to see whether its Secret is still right. */
async function fetched(id: string): Promise<Credentials> {
  const { credentials } = await osb.fetchBinding(id, id);
  assert.ok(credentials !== undefined);
  return credentials;
}

/** Rows of one statement; by TLS the name in the certificate counts, too. */
async function rows(
  credentials: Credentials,
  statement: string,
  options: ClientConfig = {},
): Promise<readonly unknown[]> {
  const { host = "", port: at, username, password, name, cacrt = "" } = textsOf(credentials);
  const client = new Client({
    host,
    port: Number(at),
    user: username,
    password,
    database: name,
    ssl: { ca: cacrt, host },
    ...options,
  });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows: found } = await client.query<Record<string, unknown>>(statement);
    return found.map((row) => Object.values(row)[0]);
  } finally {
    await client.end();
  }
}

const [orders, shop, cache] = await Promise.all([
  made("orders", "a9s-postgresql17", "postgresql-single-nano"),
  made("shop", "a9s-mariadb1011", "mariadb-single-nano-ssl"),
  made("cache", "a9s-keyvalue8", "keyvalue-single-nano-ssl"),
]);
const portOf = (credentials: Credentials): number => {
  const texts = textsOf(credentials);
  return Number(texts["port"] ?? texts["valkey.port"]);
};
const ids = ["orders", "shop", "cache"] as const;

test("an application reaches what its credentials name, by TLS with the certificate of that host, at a port of the range", async () => {
  for (const credentials of [orders, shop, cache]) {
    assert.equal(credentials["host"], "127.0.0.2");
    assert.ok(portOf(credentials) >= 15_000 && portOf(credentials) <= 15_499);
  }
  assert.match(String(orders["uri"]), /@127\.0\.0\.2:15\d{3}\//);
  await rows(orders, "create table t as select 42 as a");
  await sql(shop, "create table t (a int primary key); insert into t values (42)");
  using connection = await login(cache);
  await connection.send("SET", "a", "42");
});

test("a stranger gets into no PostgreSQL without a login of a binding, nor in charge with the superuser's own password", async () => {
  // The server also listens on loopback, where this wire leads; it sees who comes as somebody of another machine.
  const origin = { address: elsewhere, identity: "" };
  await using wire = await TcpProxy.start(`tcp://127.0.0.1:${portOf(orders)}`, {
    originOf: () => Promise.resolve(origin),
  });
  const outside = { host: "127.0.0.1", port: Number(new URL(wire.url).port) };
  const inside = { host: "127.0.0.1", port: portOf(orders) };
  assert.deepEqual(await rows(orders, "select inet_client_addr()::text", outside), [`${elsewhere}/32`]);
  const wrong = { ...outside, password: "wrong" };
  await assert.rejects(rows(orders, "select 1", wrong), /password authentication failed/);
  await assert.rejects(rows(orders, "select 1", { ...wrong, ssl: false }), /password authentication failed/);
  const admin = { user: "postgres", password: superuserPassword({ secretKey }), database: "postgres" };
  assert.deepEqual(await rows(orders, "select current_user", { ...inside, ...admin }), ["postgres"]);
  await assert.rejects(
    rows(orders, "select 1", { ...outside, ...admin }),
    /pg_hba\.conf rejects connection for host "127\.0\.0\.3", user "postgres"/,
  );
  const replication: ClientConfig & { readonly replication: string } = { ...outside, replication: "true" };
  await assert.rejects(rows(orders, "IDENTIFY_SYSTEM", replication), /no pg_hba\.conf entry for replication/);
});

test("a stranger gets into no MariaDB without a login of a binding, nor as the broker's own account", async () => {
  const own = { username: "klutch", password: adminPasswordOf("shop", secretKey) };
  for (const other of [{ password: "wrong" }, own, { username: "root", password: "" }, { username: "" }])
    await assert.rejects(sql({ ...shop, ...other }, "select 1"), /Access denied|is not allowed to connect/);
});

test("a stranger gets an answer from no key-value store, and an application elsewhere does", async () => {
  const texts = textsOf(cache);
  const place = { host: "127.0.0.2", port: portOf(cache), localAddress: elsewhere };
  using connection = await connectRedis({ ...place, ca: texts["cacrt"] ?? "", tls: true });
  for (const command of ["PING", "INFO", "HELLO 3", "CONFIG GET *"])
    await assert.rejects(connection.send(...command.split(" ")), /NOAUTH/, command);
  for (const words of ["default", "default x", "klutch x", "klutch "])
    await assert.rejects(connection.send("AUTH", ...words.split(" ")), /WRONGPASS/, words);
  await connection.send("AUTH", texts["valkey.username"] ?? "", texts["valkey.password"] ?? "");
  assert.equal(await connection.send("PING"), "PONG");
  using unsealed = await connectRedis({ ...place, tls: false });
  await assert.rejects(unsealed.send("PING"), /Socket closed unexpectedly|ECONNRESET/);
});

test("nothing of the broker is open without its credentials, and nothing listens where it was not told to", async () => {
  for (const path of ["v2/catalog", "v2/service_instances/orders", "backup-manager/instances/orders/backups"])
    assert.equal((await fetch(`${url}/${path}`)).status, 401, path);
  for (const credentials of [shop, cache])
    assert.ok(await isPortFree(portOf(credentials), "127.0.0.1"), "it is on its own address only");
  for (const credentials of [orders, shop, cache])
    assert.ok(await isPortFree(portOf(credentials), "127.0.0.4"));
});

test("after a move instances are there under the new host, with certificates for it, at their ports and with their data", async () => {
  await broker.stop();
  broker = await start({ ...first, BROKER_DATA_LISTEN: "127.0.0.5" });
  const now = await Promise.all(ids.map(fetched));
  for (const [index, before] of [orders, shop, cache].entries()) {
    const after = now[index] ?? {};
    assert.equal(after["host"], "127.0.0.5");
    assert.equal(portOf(after), portOf(before));
    assert.equal(after["cacrt"], before["cacrt"], "who trusts the authority goes on trusting it");
  }
  await theDataAreAt(now);
});

test("instances whose ports are not in the range any more get others, which are all different", async () => {
  await broker.stop();
  broker = await start({ ...first, BROKER_DATA_PORTS: "15500-15999" });
  const now = await Promise.all(ids.map(fetched));
  const ports = now.map(portOf);
  assert.ok(ports.every((each) => each >= 15_500 && each <= 15_999));
  assert.equal(new Set(ports).size, 3);
  await theDataAreAt(now);
});

async function theDataAreAt([
  sqlStore = {},
  shopStore = {},
  valueStore = {},
]: readonly Credentials[]): Promise<void> {
  assert.deepEqual(await rows(sqlStore, "select a from t"), [42]);
  // These servers start while the broker already serves.
  await waitFor("MariaDB's data", async () => (await sql(shopStore, "select a from t"))[0] === "42");
  await waitFor("the store's data", async () => {
    using connection = await login(valueStore);
    return (await connection.send("GET", "a")) === "42";
  });
}
