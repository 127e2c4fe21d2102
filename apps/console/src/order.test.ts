import assert from "node:assert/strict";
import { test } from "node:test";
import { filterRows, sortRows } from "./browser/view/order.ts";

const columns = [
  { id: "name", title: "Name", value: ({ name }: Item) => name },
  { id: "cost", title: "Cost", value: ({ cost }: Item) => cost },
] as const;
interface Item {
  readonly name: string;
  readonly cost: number | undefined;
}
const items: readonly Item[] = [
  { name: "db-10", cost: 5 },
  { name: "db-2", cost: undefined },
  { name: "", cost: 70 },
  { name: "DB-1", cost: 9 },
];
const compare = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;
const sorted = (sort: string | undefined): readonly string[] =>
  sortRows(items, columns, sort, compare).map(({ name }) => name);

test("rows are sorted as people count, and rows without a value come last in both directions", () => {
  assert.deepEqual(sorted("name"), ["DB-1", "db-2", "db-10", ""]);
  assert.deepEqual(sorted("-name"), ["db-10", "db-2", "DB-1", ""]);
  assert.deepEqual(sorted("cost"), ["db-10", "DB-1", "", "db-2"]);
  assert.deepEqual(sorted("-cost"), ["", "DB-1", "db-10", "db-2"]);
});

test("without an order, or by a column that does not exist, rows stay as the server sent them", () => {
  for (const sort of [undefined, "", "-", "nothing", "-__proto__"])
    assert.deepEqual(
      sorted(sort),
      items.map(({ name }) => name),
    );
});

test("a search wants each of its words, in any column and case", () => {
  const found = (query: string): readonly string[] =>
    filterRows(items, columns, query).map(({ name }) => name);
  assert.deepEqual(found("db 5"), ["db-10"]);
  assert.deepEqual(found("Db-1"), ["db-10", "DB-1"]);
  assert.deepEqual(
    found("  "),
    items.map(({ name }) => name),
  );
  assert.deepEqual(found("nothing"), []);
});
