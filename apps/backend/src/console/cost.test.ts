/** The console's bill over objects that only these tests hold. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceNamespaceAnnotation, type UsageLedger, usageAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import type { CostRow } from "@klutch/overview";
import { ConsoleCost, type CostSources } from "./cost.ts";
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
  reprice(): void;
}

function fixture(sources: Partial<CostSources>): Fixture {
  const said: string[] = [];
  let passed = 0;
  const handlers: (() => void)[] = [];
  const cost = new ConsoleCost({
    sources: {
      instances: [],
      ledgers: cacheOf(),
      namespaces: cacheOf(),
      compositions: cacheOf(),
      prices: cacheOf(priceList('{ currency: EUR, perHour: "0.5" }')),
      areListed: () => true,
      onPrices: (handler) => void handlers.push(handler),
      ...sources,
    },
    logger: { error: (_message, keys) => void said.push(JSON.stringify(keys)) },
    clock: { now: () => now + passed, monotonic: () => passed },
  });
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
  test(`a ledger with ${seconds} seconds beside another is no bill, and the log names it`, () => {
    const rows = [{ ...used, seconds }, used];
    const board = fixture({ ledgers: cacheOf(ledger("a", ...rows)) });
    assert.deepEqual(rowsOf(board), []);
    assert.match(board.said[0] ?? "", /is not a whole number between 0 and/);
  });
}
