import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionAnnotation, type ManagedServiceBinding, type ServiceInstance } from "@klutch/api";
import { services } from "@klutch/services";
import { wantedOf } from "../testing/catalog.ts";
import { connectionOf } from "./connection.ts";

const binding = (type: string): ManagedServiceBinding => ({
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ServiceBinding",
  metadata: { name: "b", labels: { "klutch.io/instance-type": type } },
  spec: { forProvider: { instanceName: "db", acceptsIncomplete: true } },
});

function instance(text?: string): ServiceInstance {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name: "db-x1", annotations: text === undefined ? {} : { [connectionAnnotation]: text } },
    spec: { forProvider: wantedOf() },
  };
}

const own = [{ label: "Own", from: "address", form: "address" }];
const postgresql = services().find(({ type }) => type === "postgresql")?.connection;

test("the instance says how its service is reached, also against the type of the binding", () => {
  for (const type of ["example", "postgresql"])
    assert.deepEqual(connectionOf(binding(type), instance(JSON.stringify(own))), { connection: own });
});

test("an instance that says nothing is one of the shipped service of the type, or of one that no one knows", () => {
  assert.deepEqual(connectionOf(binding("postgresql"), instance()), {
    connection: postgresql,
    problem: undefined,
  });
  assert.deepEqual(connectionOf(binding("example"), instance()), {
    connection: undefined,
    problem: undefined,
  });
  assert.deepEqual(connectionOf(binding("example"), undefined), {
    connection: undefined,
    problem: undefined,
  });
});

test("a value that is not understood is reported with its path and what to do, and changes nothing else", () => {
  for (const [type, connection, instead] of [
    ["postgresql", postgresql, "it is taken for that of PostgreSQL"],
    ["example", undefined, "the connection details of the binding stay as they are"],
  ] as const) {
    const known = connectionOf(binding(type), instance('[{"label":"x","from":"password","form":"address"}]'));
    assert.deepEqual(known.connection, connection);
    assert.equal(
      known.problem,
      `annotation klutch.anynines.com/connection of ServiceInstance db-x1 is not understood, so ${instead}: ` +
        'connection[0].from: is "password", expected a key that holds no secret; everyone who can read the status of a binding sees its value. ' +
        "Remove the annotation; the composition function writes it again",
    );
  }
});
