import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  brokerErrorOf,
  decodeBind,
  decodeBinding,
  decodeCatalog,
  decodeInstance,
  decodeLastOperation,
  decodeOutcome,
  parseObject,
} from "./decode.ts";
import { OsbTransportError } from "./errors.ts";

/** JSON in which the fields of answers occur often, with values of all kinds. */
const name = fc.constantFrom(
  "services",
  "plans",
  "id",
  "name",
  "state",
  "operation",
  "credentials",
  "parameters",
  "description",
  "error",
  "maximum_polling_duration",
  "__proto__",
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(null, true, 0.5, "", "x", "succeeded", "in progress", "failed"),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(name, tie("json"), { maxKeys: 6 }),
  ),
}));
const answer = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  fc.string(),
  fc.constant(""),
);

test("whatever a broker answers, it becomes what the types say or an error that names the field", () => {
  fc.assert(
    fc.property(answer, fc.constantFrom(200, 201, 202), (text, status) => {
      const decoders = [
        (body: ReturnType<typeof parseObject>) => isCatalog(decodeCatalog(body, "GET x")),
        (body: ReturnType<typeof parseObject>) => {
          const outcome = decodeOutcome(status, body, "PUT x", undefined);
          return outcome.kind === "done" || isTextOrNone(outcome.operation);
        },
        (body: ReturnType<typeof parseObject>) => {
          const outcome = decodeBind(status, body, "PUT x", undefined);
          return outcome.kind === "done" ? isMap(outcome.credentials) : isTextOrNone(outcome.operation);
        },
        (body: ReturnType<typeof parseObject>) => {
          const { state, description } = decodeLastOperation(body, "GET x", undefined);
          return ["in progress", "succeeded", "failed"].includes(state) && typeof description === "string";
        },
        (body: ReturnType<typeof parseObject>) => {
          const { parameters, attributes, serviceId, planId } = decodeInstance(body);
          const areMaps = [parameters, attributes].every((map) => map === undefined || isMap(map));
          return areMaps && isTextOrNone(serviceId) && isTextOrNone(planId);
        },
        (body: ReturnType<typeof parseObject>) => {
          const { credentials } = decodeBinding(body);
          return credentials === undefined || isMap(credentials);
        },
      ];
      for (const decode of decoders) {
        try {
          assert.ok(decode(parseObject(text, "GET x")));
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          assert.ok(error instanceof OsbTransportError, String(error));
          assert.equal(error.code, "Garbage");
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

function isCatalog(catalog: ReturnType<typeof decodeCatalog>): boolean {
  return catalog.services.every(
    ({ id, name: serviceName, bindable, plans }) =>
      id !== "" &&
      serviceName !== "" &&
      typeof bindable === "boolean" &&
      plans.every(
        (plan) =>
          typeof plan.id === "string" &&
          typeof plan.name === "string" &&
          (plan.maximumPollingDuration === undefined || Number.isFinite(plan.maximumPollingDuration)),
      ),
  );
}

function isMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

test("a catalog keeps what a platform needs and forgets the rest", () => {
  const body = {
    services: [
      {
        id: "1",
        name: "postgresql",
        bindable: true,
        bindings_retrievable: true,
        plan_updateable: "yes",
        tags: ["sql"],
        plans: [
          { id: "2", name: "small", description: "little", maximum_polling_duration: 600, free: true },
          { id: "3", name: "large", plan_updateable: false },
        ],
      },
    ],
  };
  assert.deepEqual(decodeCatalog(body, "GET /v2/catalog"), {
    services: [
      {
        id: "1",
        name: "postgresql",
        description: "",
        bindable: true,
        instancesRetrievable: false,
        bindingsRetrievable: true,
        planUpdateable: false,
        plans: [
          { id: "2", name: "small", description: "little", maximumPollingDuration: 600 },
          { id: "3", name: "large", description: "", planUpdateable: false },
        ],
      },
    ],
  });
});

test("the field that is wrong is named with its place", () => {
  const body = {
    services: [
      { id: "1", name: "a", plans: [] },
      { id: "2", name: "b", plans: [{ id: "" }] },
    ],
  };
  assert.throws(() => decodeCatalog(body, "GET /v2/catalog"), {
    message:
      "the broker answered GET /v2/catalog with an object whose services[1].plans[0].id is missing or not a string",
  });
  assert.throws(() => parseObject("[]", "GET x"), /the body is not an object/);
  assert.throws(() => decodeBind(200, { credentials: [] }, "PUT x", undefined), /credentials is missing/);
});

test("an error object is one by its words; a page or another object is not", () => {
  for (const text of ["{}", '{"error":"e"}', '{"description":"d","extra":1}']) {
    assert.notEqual(brokerErrorOf(text), undefined, text);
  }
  for (const text of ["", "<html>", "null", "[]", '"error"', '{"message":"m"}', '{"error":404}']) {
    assert.equal(brokerErrorOf(text), undefined, text);
  }
});
