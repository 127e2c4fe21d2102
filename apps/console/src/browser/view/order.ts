/** Filters and sorts rows; pure. */
import type { Column } from "./page.ts";

const texts = new WeakMap<object, string>();
type Compare = (a: string, b: string) => number;

/** Keeps rows in which each word of the query occurs, in any of the columns. */
export function filterRows<R extends object>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  query: string,
): readonly R[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = textOf(row, columns);
    return words.every((word) => text.includes(word));
  });
}

/** Sorts by the column that `sort` names, with a minus in front for descending. Equal rows keep their order. */
export function sortRows<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  sort: string | undefined,
  compare: Compare,
): readonly R[] {
  const { id, descending } = parseSort(sort);
  const column = columns.find((each) => each.id === id);
  if (column === undefined) return rows;
  const direction = descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: column.value(row) }));
  keyed.sort((a, b) => {
    if (isNone(a.key) || isNone(b.key)) return Number(isNone(a.key)) - Number(isNone(b.key));
    if (typeof a.key === "number" && typeof b.key === "number") return direction * (a.key - b.key);
    return a.key === b.key ? 0 : direction * compare(String(a.key), String(b.key));
  });
  return keyed.map(({ row }) => row);
}

export function parseSort(sort: string | undefined): { readonly id: string; readonly descending: boolean } {
  const text = sort ?? "";
  return text.startsWith("-") ? { id: text.slice(1), descending: true } : { id: text, descending: false };
}

function isNone(key: string | number | undefined): key is undefined | "" {
  return key === undefined || key === "" || Number.isNaN(key);
}

/** Remembers the text of each row, because a search asks for it at every letter. A changed row is another object. */
function textOf<R extends object>(row: R, columns: readonly Column<R>[]): string {
  const known = texts.get(row);
  if (known !== undefined) return known;
  const text = columns
    .map((column) => String(column.value(row) ?? ""))
    .join("\n")
    .toLowerCase();
  texts.set(row, text);
  return text;
}
