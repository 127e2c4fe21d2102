import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isRecord, recordAt } from "@klutch/kube-core";
import { tableFile } from "./file-schema.ts";

const page = readFileSync(
  join(import.meta.dirname, "..", "..", "..", "..", "docs", "add-a-service.md"),
  "utf8",
);

/** Names of the fields of whatever is below each property of that name. */
function fieldsOf(name: string, schema: unknown = tableFile.json): readonly string[][] {
  const properties = recordAt(schema, "properties");
  const inner = [
    ...Object.values(properties),
    recordAt(schema)["items"],
    recordAt(schema)["additionalProperties"],
  ];
  return [
    ...(Object.hasOwn(properties, name) ? namesIn(properties[name]) : []),
    ...inner.filter(isRecord).flatMap((one) => fieldsOf(name, one)),
  ];
}

/** Lists the fields of an object, of the items of a list, or of the values of a map. */
function namesIn(schema: unknown): readonly string[][] {
  return [schema, recordAt(schema)["items"], recordAt(schema)["additionalProperties"]]
    .map((one) => Object.keys(recordAt(one, "properties")))
    .filter((names) => names.length > 0);
}

test("the page about tables names the fields that a table has, and no others", () => {
  const table = page.slice(page.indexOf("## Fields of a table"), page.indexOf("A `schema` has a `type`"));
  const rows = [...table.matchAll(/`(?:[a-z]+\.)*([A-Za-z]+)(?:\[\]|\.<name>)?` `\{([^}]+)\}`/g)];
  assert.ok(rows.length >= 7, JSON.stringify(rows));
  for (const [, name = "", fields = ""] of rows) {
    const known = fieldsOf(name).map((names) => names.toSorted().join(", "));
    const told = fields.split(", ").toSorted().join(", ");
    assert.ok(known.includes(told), `${name} has ${known.join(" or ")}; the page says ${told}`);
  }
});
