import assert from "node:assert/strict";
import { test } from "node:test";
import { bindCrds, providerCrds } from "@klutch/api";
import { xrds } from "@klutch/services";
import { asRecord, recordsOf, textOf } from "./json.ts";

/** The server describes these itself. */
const objectFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

function undescribed(schema: unknown, path: string): readonly string[] {
  const { properties, items, additionalProperties } = asRecord(schema);
  const nested = [
    ...(items === undefined ? [] : undescribed(items, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : undescribed(additionalProperties, `${path}{}`)),
  ];
  return Object.entries(asRecord(properties)).reduce<readonly string[]>((found, [name, field]) => {
    if (path === "" && objectFields.has(name)) return found;
    const own = `${path}.${name}`;
    const missing = textOf(asRecord(field)["description"]) === "" ? [own] : [];
    return [...found, ...missing, ...undescribed(field, own)];
  }, nested);
}

for (const { metadata, spec } of [...bindCrds, ...providerCrds, ...xrds]) {
  test(`kubectl explain says of every field of ${metadata.name} what it is`, () => {
    const [version] = recordsOf(asRecord(spec)["versions"]);
    const schema = asRecord(version?.["schema"])["openAPIV3Schema"];
    assert.notDeepEqual(schema, undefined);
    assert.deepEqual(undescribed(schema, ""), []);
  });
}
