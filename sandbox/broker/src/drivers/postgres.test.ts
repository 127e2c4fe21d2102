import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Plan, postgresql } from "../catalog.ts";
import { BrokerError } from "../errors.ts";
import { checkParameters, mergeParameters, type Parameters } from "./parameters.ts";
import { connectionLimit, databaseSettings, postgresParameters } from "./postgres.ts";

const plan: Plan = {
  id: "p",
  name: "plan",
  description: "",
  serviceId: "s",
  connectionLimit: 20,
  memoryMiB: 0,
  diskMiB: 1,
  tlsOnly: false,
};
const settingsOf = (parameters: Parameters): Readonly<Record<string, string>> =>
  databaseSettings(plan, parameters);

const name = fc.oneof(
  fc.constantFrom(
    "max_connections",
    "work_mem",
    "temp_file_limit",
    "log_statement",
    "__proto__",
    "constructor",
    "fsync",
  ),
  fc.string(),
);

test("whatever is asked for, only known names with plain words and whole numbers get through", () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }))), (value) => {
      let checked: ReturnType<typeof checkParameters>;
      try {
        checked = checkParameters(value, postgresParameters);
      } catch (error) {
        assert.ok(error instanceof BrokerError);
        assert.equal(error.status, 400);
        assert.match(error.message, /^parameters/);
        return;
      }
      for (const [setting, text] of Object.entries(settingsOf(mergeParameters({}, checked)))) {
        assert.match(setting, /^[a-z_]+$/);
        // It becomes part of a statement that has no placeholders.
        assert.match(text, /^(?:-?\d+|[\w.]{1,32})$/);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("words that would leave their place in a statement are refused by name", () => {
  for (const value of ["on; drop database x", "'", '"', "a b", "", "x".repeat(33), "4MB--", "ü", "a\nb"]) {
    assert.throws(
      () => checkParameters({ work_mem: value }, postgresParameters),
      /parameters\.work_mem is .*a short word or size/,
    );
  }
  for (const value of [1.5, -2, "5", true, []]) {
    assert.throws(
      () => checkParameters({ statement_timeout: value }, postgresParameters),
      /a whole number from -1/,
    );
  }
});

test("an unknown parameter is refused with the names of the known ones", () => {
  assert.throws(
    () => checkParameters({ shared_buffers: "1GB" }, postgresParameters),
    /parameters\.shared_buffers .* possible: max_connections, /,
  );
});

test("a change of null takes a parameter back, others stay", () => {
  const present = { work_mem: "4MB", statement_timeout: 5 };
  assert.deepEqual(
    mergeParameters(present, checkParameters({ work_mem: null, log_statement: "ddl" }, postgresParameters)),
    {
      statement_timeout: 5,
      log_statement: "ddl",
    },
  );
  assert.deepEqual(mergeParameters(present, checkParameters(undefined, postgresParameters)), present);
  assert.deepEqual(checkParameters(null, postgresParameters), {});
});

test("an instance gets no more than its plan, whatever its parameters are", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1, max: 100_000 }), fc.constantFrom(...postgresql.plans), (wanted, of) => {
      const parameters = { max_connections: wanted, temp_file_limit: wanted };
      const sessions = connectionLimit(of, parameters);
      assert.ok(sessions > 0 && sessions <= of.connectionLimit);
      const files = Number(databaseSettings(of, parameters)["temp_file_limit"]);
      assert.ok(files >= 0 && files <= of.diskMiB * 1024);
    }),
  );
});

test("less than the plan is what was asked for, and without a wish it is the plan's", () => {
  assert.equal(connectionLimit(plan, { max_connections: 7 }), 7);
  assert.equal(connectionLimit(plan, {}), 20);
  assert.equal(settingsOf({ temp_file_limit: 0 })["temp_file_limit"], "0");
  assert.equal(settingsOf({})["temp_file_limit"], "1024");
  assert.equal(
    settingsOf({ max_connections: 7 })["max_connections"],
    undefined,
    "it is a limit of the database",
  );
});
