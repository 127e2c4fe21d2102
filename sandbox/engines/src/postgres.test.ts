import assert from "node:assert/strict";
import { test } from "node:test";
import { accessRules, listenAddresses } from "./postgres.ts";

test("a server is always on loopback, and further where it is told to", () => {
  assert.equal(listenAddresses(undefined), "127.0.0.1");
  assert.equal(listenAddresses({ address: "127.0.0.1" }), "127.0.0.1");
  assert.equal(listenAddresses({ address: "192.0.2.7" }), "127.0.0.1,192.0.2.7");
  assert.equal(listenAddresses({ address: "0.0.0.0" }), "0.0.0.0");
  assert.equal(listenAddresses({ address: "::" }), "*");
});

test("every login needs a password, and insiders connect by loopback only", () => {
  const rules = accessRules({ address: "0.0.0.0", insiders: ["keeper"] })
    .trimEnd()
    .split("\n");
  assert.ok(rules.every((rule) => / (?:scram-sha-256|reject)$/.test(rule)));
  const open = rules.indexOf("host all all all scram-sha-256");
  assert.equal(open, rules.length - 1);
  for (const login of ["postgres", "keeper"]) assert.ok(rules.includes(`host all "${login}" all reject`));
  const replication = rules.filter((rule) => rule.includes("replication"));
  assert.deepEqual(
    replication.map((rule) => rule.split(" ")[3]),
    ["127.0.0.1/32", "::1/128"],
  );
});
