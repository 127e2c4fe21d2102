/** The console's bill over objects that only these tests hold. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceNamespaceAnnotation, type UsageLedger, usageAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import type { CostRow } from "@klutch/overview";
import { MonthBill } from "../cost/month-bill.ts";
import { Prices } from "../cost/prices.ts";
import type { CostSources } from "../cost/sources.ts";
import { ConsoleCost } from "./cost.ts";
import type { Rights } from "./rights.ts";

const now = Date.UTC(2026, 10, 11);
const month = "2026-11";
const used = { service: "pg", plan: "small", config: "broker", month, seconds: 36_000, ended: 1 };

const ledger = (namespace: string, ...rows: UsageLedger["spec"]["rows"]): UsageLedger => ({
  apiVersion: "dataservices.anynines.com/v1",
  kind: "UsageLedger",
  metadata: { name: `${namespace}.2026` },
  spec: { namespace, year: 2026, rows },
});

const priceList = (...prices: readonly string[]): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "crossplane-system", name: "klutch-prices" },
  data: {
    "prices.yaml": `apiVersion: services.klutch.anynines.com/v1alpha1\nkind: PriceList\nprices:\n${prices
      .map((price) => `  - { service: pg, plan: small, price: ${price} }\n`)
      .join("")}`,
  },
});

const cacheOf = <T>(...objects: readonly T[]): { list: () => readonly T[] } => ({ list: () => objects });

interface Fixture {
  readonly cost: ConsoleCost;
  readonly said: string[];
  pass(ms: number): void;
  /** The objects with prices have changed. */
  readonly reprice: () => void;
}

function fixture(sources: Partial<CostSources>): Fixture {
  const said: string[] = [];
  let passed = 0;
  const handlers: (() => void)[] = [];
  const clock = { now: () => now + passed, monotonic: () => passed };
  const all: CostSources = {
    instances: [],
    backups: [],
    ledgers: cacheOf(),
    namespaces: cacheOf(),
    compositions: cacheOf(),
    prices: cacheOf(priceList('{ currency: EUR, perHour: "0.5" }')),
    areListed: () => true,
    onPrices: (handler) => void handlers.push(handler),
    ...sources,
  };
  const prices = new Prices(all, clock);
  const logger = { error: (_message: string, keys?: object) => void said.push(JSON.stringify(keys)) };
  const cost = new ConsoleCost({ prices, bill: new MonthBill({ sources: all, prices, logger, clock }) });
  return {
    cost,
    said,
    pass: (ms) => void (passed += ms),
    reprice: () => handlers.forEach((handler) => handler()),
  };
}

const rights = (all: readonly string[], own: readonly string[] = [], open = true): Rights =>
  ({
    viewer: { collections: open ? ["cost"] : [] },
    all: new Set(all),
    tenants: new Set(own),
    templates: new Set(),
  }) as unknown as Rights;

const rowsOf = ({ cost }: Fixture, who = rights(["cost"])): readonly CostRow[] =>
  [...cost.visible(who).values()].map((text) => JSON.parse(text) as CostRow);

test("a member sees the bill of their tenant, with databases that are gone and living ones, and no other's", () => {
  const annotations = { [serviceNamespaceAnnotation]: "mine/team" };
  const living = JSON.stringify({
    closed: [],
    open: { service: "pg", plan: "small", config: "broker", from: "2026-11-10T00:00:00Z" },
  });
  const instance = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: {
      name: "one",
      uid: "one",
      annotations: { [usageAnnotation]: living },
      labels: { "crossplane.io/claim-namespace": "above" },
    },
    spec: { forProvider: { serviceName: "pg", planName: "small", organizationGuid: "o", spaceGuid: "s" } },
  };
  const board = fixture({
    instances: [cacheOf(instance) as unknown as CostSources["instances"][number]],
    ledgers: cacheOf(
      ledger("above", used, { ...used, month: "2026-10" }, { ...used, month: "2026-12" }),
      ledger("theirs", used),
    ),
    namespaces: cacheOf({ apiVersion: "v1", kind: "Namespace", metadata: { name: "above", annotations } }),
  });
  const words = { tenant: "mine", service: "pg", plan: "small", month };
  const own = { ...words, hours: 34, cost: { amount: "17.00", currency: "EUR" } };
  assert.deepEqual(
    rowsOf(board, rights([], ["mine"])).map((row) => ({ ...row, id: "" })),
    [{ id: "", ...own }],
  );
  assert.deepEqual(
    rowsOf(board).map(({ tenant }) => tenant),
    ["mine", "theirs"],
  );
  assert.deepEqual(rowsOf(board, rights([], ["other"])), []);
  assert.deepEqual(rowsOf(board, rights(["cost"], [], false)), [], "who may not read cost");
});

/** A living database of the tenant `mine`, as its broker tells of it. */
function database(name: string, measured: object | undefined, namespace = "above"): DynamicObject {
  const open = { service: "pg", plan: "small", config: "broker", from: "2026-09-01T00:00:00Z" };
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: {
      name: `${name}-x7`,
      uid: name,
      annotations: { [usageAnnotation]: JSON.stringify({ closed: [], open }) },
      labels: { "crossplane.io/claim-name": name, "crossplane.io/claim-namespace": namespace },
    },
    spec: { forProvider: { serviceName: "pg", planName: "small", organizationGuid: "o", spaceGuid: "s" } },
    status: { atProvider: { measured } },
  };
}

function measuredFixture(...databases: readonly DynamicObject[]): Fixture {
  const annotations = { [serviceNamespaceAnnotation]: "mine/team" };
  return fixture({
    instances: [cacheOf(...databases) as unknown as CostSources["instances"][number]],
    namespaces: cacheOf({ apiVersion: "v1", kind: "Namespace", metadata: { name: "above", annotations } }),
  });
}

const at = "2026-11-10T12:00:00Z";
const old = "2026-10-01T12:00:00Z";

test("a line has the size of its databases and names the idle ones, to members of their own tenant only", () => {
  const board = measuredFixture(
    database("orders", { at, bytes: 5, lastSession: old }),
    database("busy", { at, bytes: 7, lastSession: at }),
    database("silent", undefined),
    database("theirs", { at, lastSession: old }, "elsewhere"),
  );
  const [mine, ...others] = rowsOf(board, rights([], ["mine"]));
  assert.deepEqual(others, []);
  assert.deepEqual(mine?.data, { bytes: 12, lacksSizes: true });
  const perMonth = { amount: "365.00", currency: "EUR" };
  assert.deepEqual(mine.idle, {
    count: 1,
    databases: [{ namespace: "team", name: "orders", lastSession: old, bytes: 5, perMonth }],
  });
});

test("a line whose brokers tell nothing has neither a size nor idle databases", () => {
  const [row] = rowsOf(measuredFixture(database("silent", undefined)));
  assert.ok(row !== undefined && !("data" in row) && !("idle" in row));
});

test("1,000 idle databases of a line are counted, and 20 are named, without control characters", () => {
  const all = Array.from({ length: 1_000 }, (_, index) =>
    database(`db-${index}-\u202e<b>${"x".repeat(1_000)}`, { at, lastSession: old }),
  );
  const [row] = rowsOf(measuredFixture(...all));
  assert.deepEqual([row?.idle?.count, row?.idle?.databases.length], [1_000, 20]);
  assert.doesNotMatch(JSON.stringify(row), /[\p{Cc}\p{Cf}]/u);
  assert.ok(JSON.stringify(row).length < 8_000);
});

test("the bill is calculated at most once a minute, and sooner until all objects are listed", () => {
  let isListed = false;
  const ledgers = { all: [ledger("a", used)], list: (): readonly UsageLedger[] => ledgers.all };
  const board = fixture({ ledgers, areListed: () => isListed });
  const who = rights(["cost"]);
  const texts = board.cost.visible(who);
  ledgers.all = [ledger("a", used), ledger("b", used)];
  board.pass(1_999);
  assert.equal(board.cost.visible(who), texts);
  isListed = true;
  board.pass(1);
  assert.equal(board.cost.visible(who).size, 2);
  ledgers.all = [];
  board.pass(59_999);
  assert.equal(board.cost.visible(who).size, 2);
  board.pass(1);
  assert.equal(board.cost.visible(who).size, 0);
});

test("a plan's price of a month follows the price list at once, and a list that lies gives none", () => {
  let price = '{ currency: EUR, perHour: "0.5" }';
  const board = fixture({ prices: { list: () => [priceList(price)] } });
  const perMonth = (): unknown => board.cost.perMonth("pg", "small");
  assert.deepEqual(perMonth(), { amount: "365.00", currency: "EUR" });
  assert.equal(board.cost.perMonth("pg", "big"), undefined);
  price = '{ currency: USD, perMonth: "20.005" }';
  board.reprice();
  assert.deepEqual(perMonth(), { amount: "20.01", currency: "USD" });
  price = '{ currency: EUR, perMonth: "-1" }';
  board.reprice();
  assert.equal(perMonth(), undefined);
});

test("10,000 services of one tenant are 100 rows and a rest, and nothing is lost of the sum", () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => ({ ...used, service: `bomb-${index}` }));
  const shown = rowsOf(fixture({ ledgers: cacheOf(ledger("a", ...rows, used), ledger("b", used)) }));
  assert.equal(shown.filter(({ tenant }) => tenant === "a").length, 101);
  assert.equal(shown.filter(({ tenant }) => tenant === "b").length, 1);
  assert.equal(
    shown.reduce((hours, row) => hours + row.hours, 0),
    100_020,
  );
  assert.ok(shown.some(({ service, cost }) => service === "pg" && cost !== undefined));
});

test("markup and control characters in names come out as bounded text, and equal words are one row", () => {
  const name = `<script>\u202e\u0000${"x".repeat(10_000)}`;
  const rows = ["1", "2"].map((end) => ({ ...used, service: name + end }));
  const shown = rowsOf(fixture({ ledgers: cacheOf(ledger("a", ...rows)) }));
  assert.deepEqual(
    shown.map(({ hours }) => hours),
    [20],
  );
  assert.doesNotMatch(JSON.stringify(shown), /[\p{Cc}\p{Cf}]/u);
  assert.ok(JSON.stringify(shown).length < 600);
});

for (const [lie, prices] of [
  ["a negative price", ['{ currency: EUR, perHour: "-1" }']],
  ["two prices in one", ['{ currency: EUR, perHour: "1", perMonth: "1" }']],
  ["two prices of a plan", ['{ currency: EUR, perHour: "1" }', '{ currency: USD, perHour: "1" }']],
] as const) {
  test(`with ${lie} hours are shown without a cost, and the log names the fault once`, () => {
    const board = fixture({ ledgers: cacheOf(ledger("a", used)), prices: cacheOf(priceList(...prices)) });
    assert.deepEqual(
      rowsOf(board).map(({ hours, cost }) => [hours, cost]),
      [[10, undefined]],
    );
    board.pass(60_000);
    rowsOf(board);
    assert.equal(board.said.length, 1);
    assert.match(board.said[0] ?? "", /klutch-prices are not valid.*prices\[/);
  });
}

for (const seconds of [-1, 2 ** 53, Number.MAX_SAFE_INTEGER - 2]) {
  test(`a ledger with ${seconds} seconds hides itself and no other bill; it is a problem, and the log names it once`, () => {
    const board = fixture({ ledgers: cacheOf(ledger("a", { ...used, seconds }, used), ledger("b", used)) });
    assert.deepEqual(
      rowsOf(board).map(({ tenant, hours }) => [tenant, hours]),
      [["b", 10]],
    );
    const [problem, ...more] = board.cost.problems();
    assert.deepEqual(more, []);
    assert.equal(problem?.title, "UsageLedger a.2026");
    assert.match(
      problem?.says ?? "",
      /spec\.rows\[0\]\.seconds is not .* The bill leaves this ledger out\.$/,
    );
    board.pass(60_000);
    rowsOf(board);
    assert.equal(board.said.length, 1);
    assert.match(board.said[0] ?? "", /UsageLedger a\.2026: .*is not a whole number between 0 and/);
  });
}

test("a line shows backups with their GiB-months, and never 0 of an unknown size; a size in doubt is a problem", () => {
  const usage = { service: "pg", plan: "small", config: "broker", from: "2026-11-10T00:00:00Z" };
  const backup = (name: string, more: object): DynamicObject => ({
    apiVersion: "dataservices.anynines.com/v1",
    kind: "Backup",
    metadata: {
      name,
      uid: name,
      annotations: {
        [usageAnnotation]: JSON.stringify({ ...usage, ...more }),
      },
      labels: { "crossplane.io/claim-namespace": "a" },
    },
    spec: { forProvider: { instanceName: "db" } },
  });
  const withBackups = (...objects: readonly DynamicObject[]): Fixture =>
    fixture({
      backups: [cacheOf(...objects) as unknown as CostSources["backups"][number]],
      ledgers: cacheOf(ledger("a", used)),
      prices: cacheOf(priceList('{ currency: EUR, perHour: "0.5", backupPerGiBMonth: "0.73" }')),
    });
  const [row] = rowsOf(withBackups(backup("b", { bytes: 2 ** 30 })));
  assert.deepEqual(row?.backups, { made: 1, gibMonths: "0.033", lacksSizes: false });
  assert.deepEqual(row?.cost, { amount: "5.02", currency: "EUR" });
  const lying = withBackups(backup("<b>\u202e", { fault: "the size is none" }));
  assert.deepEqual(rowsOf(lying)[0]?.backups, { made: 1, lacksSizes: true });
  const [problem, ...more] = lying.cost.problems();
  assert.deepEqual(more, []);
  assert.deepEqual([problem?.reason, problem?.severity], ["BackupSizeInDoubt", "warning"]);
  assert.equal(problem?.says, "the size is none. The bill counts it with an unknown size.");
  assert.doesNotMatch(JSON.stringify(problem), /[\p{Cc}\p{Cf}]/u);
});

test("a thousand damaged ledgers with markup for names are 20 problems on one line each", () => {
  const bad = Array.from({ length: 1_000 }, (_, index) =>
    ledger(`<b>\u202e\n${index}`, { ...used, seconds: -1 }),
  );
  const problems = fixture({ ledgers: cacheOf(...bad) }).cost.problems();
  assert.equal(problems.length, 20);
  assert.match(problems[19]?.says ?? "", /, and 980 more ledgers are damaged\.$/);
  assert.doesNotMatch(JSON.stringify(problems), /[\p{Cc}\p{Cf}]/u);
});

test("an offer has the plans of its kind with prices: of an enumeration, and of the rules of a table", () => {
  const crd = (spec: object): DynamicObject => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "x" },
    spec: { versions: [{ storage: true, schema: { openAPIV3Schema: { properties: { spec } } } }] },
  });
  const list = priceList('{ currency: EUR, perHour: "0.5" }');
  const { cost, reprice } = fixture({ prices: { list: () => [list] } });
  const small = { name: "small", words: "", perMonth: { amount: "365.00", currency: "EUR" } };
  const big = { name: "big", words: "" };
  const listed = crd({ properties: { service: { enum: ["pg"] }, plan: { enum: ["small", "big", 7] } } });
  assert.deepEqual(cost.plansOf(listed), [small, big]);
  assert.equal(cost.plansOf(listed), cost.plansOf(listed), "the same until something changes");
  const before = cost.plansOf(listed);
  reprice();
  assert.notEqual(cost.plansOf(listed), before);
  const rules = [
    { message: "Unsupported service used for pg", rule: 'self.service in ["pg", "pg13"]' },
    {
      message: "Unsupported plan used for pg",
      rule: '(has(self.x)) || (self.plan in ["small", "big"] || (self.plan in ["old"] && oldSelf.hasValue()))',
    },
    { message: "another", rule: '!(self.plan in ["none"])' },
  ];
  const one = { ...small, words: "with pg" };
  assert.deepEqual(cost.plansOf(crd({ "x-kubernetes-validations": rules })), [one, big]);
  for (const lie of [{}, { properties: 7 }, { "x-kubernetes-validations": [null, { rule: 7, message: {} }] }])
    assert.deepEqual(cost.plansOf(crd(lie)), []);
  assert.deepEqual(cost.plansOf(undefined), []);
});
