import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeRequest, Json } from "@klutch/crossplane";
import { functionResource, instanceInput, services } from "@klutch/services";
import fc from "fast-check";
import { compose } from "./compose.ts";

const labels = { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" };
const header = { apiVersion: "fn.klutch.anynines.com/v1alpha1", kind: "Input", resource: "service-instance" };

function request(input: Json, spec: Json): ComposeRequest {
  return {
    composite: { metadata: { name: "db-x1", labels }, spec },
    observed: {},
    input,
    required: { environment: [], brokers: [] },
  };
}

test("an instance of a service that is not compiled in is composed as its Composition says", () => {
  const parameters = { maxSize: "max-size", level: { key: "log_level", as: "lower" } };
  const input = { ...header, type: "example", parameters };
  const spec = {
    service: "example1",
    plan: "example-small",
    parameters: { maxSize: 5, level: "WARNING", other: 1 },
  };
  const { resources } = compose(request(input, spec));
  assert.deepEqual(resources["managed"]?.resource["spec"], {
    forProvider: {
      acceptsIncomplete: true,
      serviceName: "example1",
      planName: "example-small",
      organizationGuid: "a1d46b5c-b639-4f43-85c7-e9a0e5f01f75",
      spaceGuid: "1bf71cf3-9017-4846-bffc-b9b31872bfaf",
      parameters: { "max-size": 5, log_level: "warning" },
    },
    providerConfigRef: { name: "example-service-broker" },
  });
});

test("the connection of a service stands on its instances, beside the kind of the claim", () => {
  const connection = [{ label: "SQL", from: "host", form: "host", port: "port" }];
  const claimRef = { apiVersion: "anynines.com/v1", kind: "ExampleInstance" };
  const input = { ...header, type: "example", connection };
  const { resources } = compose(request(input, { service: "s", plan: "p", claimRef }));
  assert.deepEqual(resources["managed"]?.resource["metadata"], {
    labels,
    annotations: {
      "klutch.anynines.com/connection": JSON.stringify(connection),
      "klutch.anynines.com/claim-kind": "anynines.com/v1/ExampleInstance",
    },
  });
});

/** Services that the release before did not have. */
const added: ReadonlySet<string> = new Set(["objectstorage"]);

for (const service of services().filter(({ type }) => !added.has(type)))
  test(`a Composition of ${service.title} composes what the one of the release before composes`, () => {
    const [name = "", plan = ""] = [service.offerings[0], service.plans[0]];
    const parameters = Object.fromEntries(
      service.parameters.map((one) => [one.name, `value of ${one.name}`]),
    );
    const spec = { service: name, plan, parameters };
    const old = compose(request({ ...header, resource: functionResource(service) }, spec));
    assert.deepEqual(compose(request({ ...instanceInput(service) }, spec)), old);
  });

test("an input that describes no service stops the pipeline and names its fields", () => {
  for (const [wrong, message] of [
    [{}, /input\.type: is missing/],
    [{ type: "Post gres" }, /input\.type: is "Post gres", expected a string that matches/],
    [{ type: "example", parameters: [] }, /input\.parameters: is \[\], expected an object/],
    [{ type: "example", parameters: { a: 1 } }, /input\.parameters\.a: is 1, expected an object/],
    [{ type: "example", parameters: { a: { key: "a", as: "upper" } } }, /parameters\.a\.as: is "upper"/],
    [{ type: "example", parameters: { a: { key: "a", was: 1 } } }, /parameters\.a\.was: is 1/],
    [{ type: "example", connection: {} }, /input\.connection: is \{\}, expected an array/],
    [
      { type: "example", connection: [{ label: "x", from: "host", form: "host" }] },
      /input\.connection\[0\]\.port: is missing, expected the key that has the port/,
    ],
  ] as const) {
    const { resources, results } = compose(request({ ...header, ...wrong }, {}));
    assert.deepEqual(resources, {});
    assert.equal(results?.[0]?.severity, "fatal");
    assert.match(results[0].message, message);
  }
});

test("whatever an input says, one instance of its type is composed or nothing", () => {
  const part = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom<unknown>("example", { a: "b" }, undefined),
  );
  fc.assert(
    fc.property(part, part, part, (type, parameters, claimed) => {
      const answer = compose(request({ ...header, type, parameters }, { parameters: claimed }));
      if (answer.results?.[0]?.severity === "fatal") return assert.deepEqual(answer.resources, {});
      const { spec } = answer.resources["managed"]?.resource ?? {};
      return assert.match(JSON.stringify(spec), new RegExp(`"name":"${String(type)}-service-broker"`));
    }),
    { numRuns: 2_000 },
  );
});
