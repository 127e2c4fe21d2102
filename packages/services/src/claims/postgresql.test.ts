import assert from "node:assert/strict";
import { test } from "node:test";
import { services } from "../list.ts";

const { parameters = [], plans = [] } = services().find(({ type }) => type === "postgresql") ?? {};

test("the broker calls every parameter as the claim does, in snake case, but for two", () => {
  const special: Readonly<Record<string, string>> = {
    logMinMessages: "pg_log_min_messages",
    logMinErrorStatement: "pg_log_min_error_statement",
  };
  assert.equal(parameters.length, 21);
  for (const { name, brokerKey } of parameters) {
    const snakeCase = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    assert.equal(brokerKey, special[name] ?? snakeCase);
  }
});

test("there are twenty plans, each by its size, its shape and its variant", () => {
  assert.equal(new Set(plans).size, 20);
  for (const plan of plans)
    assert.match(
      plan,
      /^postgresql-(single-(nano|small|big)|replica-(small|big))(-bionic|-ssl|-ssl-bionic)?$/,
    );
});
