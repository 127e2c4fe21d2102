import assert from "node:assert/strict";
import { after, test } from "node:test";
import { inspect } from "node:util";
import { Hono } from "hono";
import { Pool } from "pg";
import { createMetrics, type LogFields, type Logger, silentLogger } from "@klutch/telemetry";
import { createApp } from "./app.ts";
import { postgresql } from "./catalog.ts";
import { PostgresDriver } from "./drivers/postgres.ts";
import { BrokerService } from "./service.ts";
import { Store } from "./store.ts";

/** Nothing listens there: what gets as far as the database fails, and everything else must not get that far. */
const url = new URL("postgres://nobody:hunter2@127.0.0.1:1/none");
const logged: (LogFields | undefined)[] = [];
const logger: Logger = { ...silentLogger, error: (_message, fields) => void logged.push(fields) };
const pool = new Pool({ connectionString: url.href });
after(() => pool.end());
const secretKey = "0123456789abcdef0123456789abcdef";
const driver = new PostgresDriver({ url, secretKey, programs: undefined });
const service = new BrokerService(new Store(pool), [driver], logger);
const app = createApp({ service, username: "user", password: "pässwört:1", logger });

const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
const good = { authorization: basic("user:pässwört:1"), "x-broker-api-version": "2.17" };
const instance = "/v2/service_instances/i1";
const provision = {
  service_id: postgresql.id,
  plan_id: postgresql.plans[0]?.id,
  organization_guid: "o",
  space_guid: "s",
};

interface Answer {
  readonly status: number;
  readonly error: string;
  readonly description: string;
}

async function send(
  method: string,
  path: string,
  options: { readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<Answer> {
  const response = await app.request(path, {
    method,
    headers: { ...good, ...options.headers },
    ...(options.body === undefined ? {} : { body: options.body }),
  });
  const answer: unknown = await response.json();
  assert.ok(typeof answer === "object" && answer !== null);
  const fields = new Map<string, unknown>(Object.entries(answer));
  return {
    status: response.status,
    error: String(fields.get("error")),
    description: String(fields.get("description")),
  };
}

test("only the right name and password get in, and health needs none", async () => {
  for (const authorization of [
    "",
    basic("user:"),
    basic("user:pässwört"),
    basic("user:pässwört:12"),
    basic("User:pässwört:1"),
    basic(":"),
    "Basic",
    "Bearer x",
    good.authorization.toLowerCase(),
  ]) {
    const { status, error } = await send("GET", "/v2/catalog", { headers: { authorization } });
    assert.deepEqual([status, error], [401, "Unauthorized"], authorization);
  }
  assert.equal((await app.request("/v2/catalog", { headers: good })).status, 200);
  assert.equal((await app.request("/healthz")).status, 200);
});

test("a wrong password is reported before anything about the request is", async () => {
  for (const path of ["/v2/nothing", instance, `${instance}/last_operation`]) {
    assert.equal(
      (await send("PUT", path, { headers: { authorization: basic("a:b") }, body: "{" })).status,
      401,
    );
  }
});

test("versions from 2.13 on are spoken, and the answer to another one says which", async () => {
  for (const [version, status] of [
    ["2.13", 200],
    ["2.17", 200],
    ["2.100", 200],
    ["2.12", 412],
    ["1.99", 412],
    ["3.0", 412],
    ["2", 412],
    ["2.17 ", 200],
    ["2.x", 412],
    ["", 412],
  ] as const) {
    const headers = { ...good, "x-broker-api-version": version };
    assert.equal((await app.request("/v2/catalog", { headers })).status, status, version);
  }
  const { description } = await send("GET", "/v2/catalog", { headers: { "x-broker-api-version": "2.1" } });
  assert.equal(description, "X-Broker-API-Version is 2.1; 2.13 or newer is needed");
});

test("a request without a version is not a good one, and it is told which are spoken", async () => {
  const { authorization } = good;
  const response = await app.request("/v2/catalog", { headers: { authorization } });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /X-Broker-API-Version is missing; 2\.13 or newer is needed/);
});

test("the name of a request comes back with its answer, whatever that is", async () => {
  const name = "x-broker-api-request-identity";
  for (const path of ["/v2/catalog", "/v2/nothing"]) {
    const response = await app.request(path, { headers: { ...good, [name]: "e26cee84" } });
    assert.equal(response.headers.get(name), "e26cee84");
  }
  const unauthorized = await app.request("/v2/catalog", { headers: { [name]: "e26cee84" } });
  assert.equal(unauthorized.headers.get(name), "e26cee84");
  for (const wrong of ["", "a b", "x".repeat(256)]) {
    const response = await app.request("/v2/catalog", { headers: { ...good, [name]: wrong } });
    assert.equal(response.headers.get(name), null);
  }
});

test("an operation that outlasts its request starts only for clients that accept incomplete answers", async () => {
  for (const method of ["PUT", "PATCH", "DELETE"]) {
    for (const query of ["", "?accepts_incomplete=false", "?accepts_incomplete=1"]) {
      const { status, error } = await send(method, `${instance}${query}`, { body: "{}" });
      assert.deepEqual([status, error], [422, "AsyncRequired"], `${method} ${query}`);
    }
  }
});

const async = "?accepts_incomplete=true";
const refused: readonly (readonly [string, string, number, RegExp])[] = [
  ["no JSON", "{", 400, /body is not a JSON object/],
  ["a list", "[]", 400, /body is not a JSON object/],
  ["null", "null", 400, /body is not a JSON object/],
  ["nothing", "", 400, /body is not a JSON object/],
  ["no service", "{}", 400, /service_id/],
  ["another service", JSON.stringify({ ...provision, service_id: "x" }), 400, /service_id/],
  ["an unknown plan", JSON.stringify({ ...provision, plan_id: "x" }), 400, /plan_id/],
  ["no organization", JSON.stringify({ ...provision, organization_guid: 7 }), 400, /organization_guid/],
  [
    "an unknown parameter",
    JSON.stringify({ ...provision, parameters: { fsync: "off" } }),
    400,
    /parameters\.fsync/,
  ],
  ["a body of 300 kilobytes", JSON.stringify({ ...provision, x: "x".repeat(300_000) }), 413, /256 KiB/],
];
for (const [what, body, status, description] of refused) {
  test(`a provision with ${what} is refused before the database is asked`, async () => {
    const before = logged.length;
    const answer = await send("PUT", `${instance}${async}`, { body });
    assert.equal(answer.status, status);
    assert.match(answer.description, description);
    assert.equal(logged.length, before);
  });
}

test("an identifier is printable and short; any other is refused", async () => {
  for (const id of ["a%20b", "%C3%BC", "%0A", "x".repeat(256), "%00"]) {
    const { status, description } = await send("GET", `/v2/service_instances/${id}`);
    assert.equal(status, 400, id);
    assert.match(description, /the instance id must have 1 to 255 printable characters/);
    const binding = await send("PUT", `${instance}/service_bindings/${id}`, { body: "{}" });
    assert.match(binding.description, /the binding id/);
  }
});

test("a failure of the broker's own says nothing of its server, and its log does", async () => {
  logged.length = 0;
  const answer = await send("PUT", `${instance}${async}`, { body: JSON.stringify(provision) });
  assert.deepEqual(answer, {
    status: 500,
    error: "InternalServerError",
    description: "the broker failed; see its log",
  });
  const text = inspect(logged);
  assert.match(text, /ECONNREFUSED/);
  assert.doesNotMatch(text, /hunter2/);
});

test("an unknown path is a 404 that is no instance's", async () => {
  const { status, error } = await send("GET", "/v2/service_plans");
  assert.deepEqual([status, error], [404, "NotFound"]);
});

test("requests are counted by what they ask for and by the answer, of the backup manager too", async () => {
  const metrics = createMetrics();
  const backups = new Hono();
  backups.get("*", (context) => context.json([]));
  const counted = createApp({ service, username: "u", password: "p", logger, metrics, backups });
  await counted.request("/backup-manager/instances/i1/backups");
  await counted.request("/v2/catalog");
  const text = await metrics.text();
  assert.match(text, /^klutch_broker_served_requests_total\{operation="listBackups",code="200"\} 1$/m);
  assert.match(text, /^klutch_broker_served_requests_total\{operation="catalog",code="401"\} 1$/m);
  assert.match(text, /^klutch_broker_served_request_duration_seconds_count\{operation="listBackups"\} 1$/m);
});
