import assert from "node:assert/strict";
import { test } from "node:test";
import { bindCrds, providerCrds } from "@klutch/api";
import { recordAt, recordsAt, textAt, valueAt } from "@klutch/kube-core";
import { generations, xrdsOf } from "@klutch/services";

/** The server describes these itself. */
const objectFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

function undescribed(schema: unknown, path: string): readonly string[] {
  const { properties, items, additionalProperties } = recordAt(schema);
  const nested = [
    ...(items === undefined ? [] : undescribed(items, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : undescribed(additionalProperties, `${path}{}`)),
  ];
  return Object.entries(recordAt(properties)).reduce<readonly string[]>((found, [name, field]) => {
    if (path === "" && objectFields.has(name)) return found;
    const own = `${path}.${name}`;
    const missing = textAt(field, "description") === undefined ? [own] : [];
    return [...found, ...missing, ...undescribed(field, own)];
  }, nested);
}

for (const { metadata, spec } of [...bindCrds, ...providerCrds, ...generations.flatMap(xrdsOf)]) {
  test(`kubectl explain says of every field of ${metadata.name} what it is`, () => {
    const [version] = recordsAt(spec, "versions");
    const schema = valueAt(version, "schema", "openAPIV3Schema");
    assert.notDeepEqual(schema, undefined);
    assert.deepEqual(undescribed(schema, ""), []);
  });
}
