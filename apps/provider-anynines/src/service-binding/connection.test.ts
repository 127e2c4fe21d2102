import assert from "node:assert/strict";
import { test } from "node:test";
import { services } from "@klutch/services";
import { flattenCredentials } from "./connection.ts";

/** As a broker sends them: keys with a dot stand in an object, ports are numbers, hosts are lists. */
function sent(keys: readonly string[]): Readonly<Record<string, unknown>> {
  const groups = Map.groupBy(keys, (key) => (key.includes(".") ? key.slice(0, key.indexOf(".")) : ""));
  const { "": root = {}, ...nested } = Object.fromEntries(
    [...groups].map(([group, names]): [string, object] => [
      group,
      Object.fromEntries(names.map((key) => [key.slice(key.indexOf(".") + 1), valueOf(key)] as const)),
    ]),
  );
  return { ...root, ...nested };
}

function valueOf(key: string): unknown {
  if (key.endsWith("port")) return 5432;
  return key.endsWith("hosts") ? ["a.example.org", "b.example.org"] : `the ${key}`;
}

for (const service of services()) {
  test(`credentials of ${service.title} become the keys of a Secret`, () => {
    const flat = flattenCredentials(sent(service.credentialKeys));
    assert.deepEqual(Object.keys(flat).toSorted(), service.credentialKeys.toSorted());
  });
}

test("numbers are written out, lists of values in brackets, and other characters of keys as underscores", () => {
  const credentials = { max: 1_000_000, hosts: ["a", "b"], "a b": true, nothing: null, list: [{ a: 1 }] };
  assert.deepEqual(flattenCredentials(credentials), {
    max: "1000000",
    hosts: "[a b]",
    a_b: "true",
    list: '[{"a":1}]',
  });
});

test("what stands again in a nested object under the same name and value is left out at the root", () => {
  const credentials = { password: "p", user: "u", amqp: { password: "p", user: "other" } };
  assert.deepEqual(flattenCredentials(credentials), {
    user: "u",
    "amqp.password": "p",
    "amqp.user": "other",
  });
});
