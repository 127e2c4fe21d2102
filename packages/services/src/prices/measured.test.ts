/** Sizes in a bill, and idle databases. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  missingAnnotation,
  serviceNamespaceAnnotation,
  type ServiceInstance,
  usageAnnotation,
} from "@klutch/api";
import { type BillLine, billOf } from "./bill.ts";
import { idleDatabasesOf } from "./idle.ts";
import { PriceBook } from "./price-list.ts";

const now = Date.UTC(2026, 10, 29, 12);
const at = "2026-11-29T06:00:00Z";
const period = { since: "2026-10", until: undefined, now };
const used = { service: "pg", plan: "small", config: "broker" };
const book = new PriceBook([{ service: "pg", plan: "small", price: { currency: "EUR", perMonth: "25.00" } }]);
const namespaces = [
  {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "klutch-a-team", annotations: { [serviceNamespaceAnnotation]: "klutch-a/team" } },
  },
];

function database(
  name: string,
  measured?: object,
  more: Partial<Record<string, unknown>> = {},
): ServiceInstance {
  const { namespace = "klutch-a-team", annotations = {}, ...plan } = more;
  const open = { ...used, ...plan, from: "2026-10-01T00:00:00Z" };
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: {
      name: `${name}-x7`,
      uid: name,
      labels: { "crossplane.io/claim-name": name, "crossplane.io/claim-namespace": String(namespace) },
      annotations: { [usageAnnotation]: JSON.stringify({ closed: [], open }), ...(annotations as object) },
    },
    spec: { forProvider: {} },
    status: { atProvider: { measured } },
  } as unknown as ServiceInstance;
}

const linesOf = (...instances: readonly ServiceInstance[]): readonly BillLine[] =>
  billOf({ instances, backups: [], ledgers: [], namespaces }, book, period).lines;
const datas = (lines: readonly BillLine[]): readonly unknown[] =>
  lines.map(({ month, data }) => [month, data]);

test("a line of this month has the bytes of its databases that exist now, by tenant, service and plan", () => {
  const lines = linesOf(
    database("one", { at, bytes: 5 }),
    database("two", { at, bytes: 7 }),
    database("large", { at, bytes: 100 }, { plan: "large" }),
    database("theirs", { at, bytes: 1_000 }, { namespace: "elsewhere" }),
  );
  assert.deepEqual(
    lines.map(({ tenant, plan, month, data }) => [tenant, plan, month, data?.bytes]),
    [
      ["elsewhere", "small", "2026-10", undefined],
      ["elsewhere", "small", "2026-11", 1_000n],
      ["klutch-a", "large", "2026-10", undefined],
      ["klutch-a", "large", "2026-11", 100n],
      ["klutch-a", "small", "2026-10", undefined],
      ["klutch-a", "small", "2026-11", 12n],
    ],
  );
});

test("an unknown size is counted as unknown, and a line without any known size has none, never 0", () => {
  const lines = linesOf(database("one", { at, bytes: 5 }), database("two"), database("three", { at: "x" }));
  assert.deepEqual(datas(lines).at(-1), ["2026-11", { bytes: 5n, sized: 1, unsized: 2 }]);
  assert.deepEqual(datas(linesOf(database("two"))), [
    ["2026-10", undefined],
    ["2026-11", undefined],
  ]);
  assert.deepEqual(datas(linesOf(database("empty", { at, bytes: 0 }))).at(-1), [
    "2026-11",
    { bytes: 0n, sized: 1, unsized: 0 },
  ]);
});

test("10,000 databases of the largest size are summed exactly", () => {
  const largest = Array.from({ length: 10_000 }, (_, index) =>
    database(`db-${index}`, { at, bytes: 2 ** 50 - 1 }),
  );
  assert.equal(linesOf(...largest).at(-1)?.data?.bytes, (2n ** 50n - 1n) * 10_000n);
});

test("a database that its broker lacks has no size", () => {
  const annotations = { [missingAnnotation]: JSON.stringify({ since: now - 1_000, confirmed: true }) };
  assert.deepEqual(datas(linesOf(database("lost", { at, bytes: 5 }, { annotations }))).at(-1), [
    "2026-11",
    undefined,
  ]);
});

const idle = (instances: readonly ServiceInstance[], more: object = {}) =>
  idleDatabasesOf({ instances, namespaces }, book, { now, ...more });

test("a database without a session for 30 days is named with its claim, its plan and its price", () => {
  const { databases, existing, known } = idle([
    database("orders", { at, bytes: 5, lastSession: "2026-10-20T06:00:00Z" }),
    database("busy", { at, lastSession: "2026-10-30T06:00:01Z" }),
    database("older", { at, lastSession: "2026-10-02T06:00:00Z" }, { plan: "large" }),
    database("silent", { at, bytes: 5 }),
    database("unknown"),
  ]);
  assert.deepEqual([existing, known], [5, 3]);
  assert.deepEqual(
    databases.map(({ claim, days }) => [claim, days]),
    [
      ["older", 58],
      ["orders", 40],
    ],
  );
  assert.deepEqual(databases[1], {
    ...used,
    tenant: "klutch-a",
    namespace: "team",
    claim: "orders",
    lastSession: "2026-10-20T06:00:00Z",
    at,
    days: 40,
    bytes: 5,
    perMonth: { amount: "25.00", currency: "EUR" },
  });
  assert.equal(databases[0]?.perMonth, undefined);
});

test("other days and other tenants may be asked for", () => {
  const all = [
    database("orders", { at, lastSession: "2026-11-20T06:00:00Z" }),
    database("theirs", { at, lastSession: "2026-11-20T06:00:00Z" }, { namespace: "elsewhere" }),
  ];
  assert.deepEqual(idle(all).databases, []);
  const found = idle(all, { leastDays: 9, isMeant: (tenant: string) => tenant === "klutch-a" });
  assert.deepEqual([found.databases.map(({ claim }) => claim), found.existing], [["orders"], 1]);
});

test("a broker that was asked long ago makes no database idle", () => {
  const long = { at: "2026-11-01T00:00:00Z", lastSession: "2026-01-01T00:00:00Z" };
  assert.deepEqual(idle([database("orders", long)]), { databases: [], existing: 1, known: 0 });
});
