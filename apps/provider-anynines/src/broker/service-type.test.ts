import assert from "node:assert/strict";
import { test } from "node:test";
import {
  instanceTypeLabel,
  type ManagedServiceBinding,
  regionLabel,
  type ServiceInstance,
} from "@klutch/api";
import { ExternalError, NotYetError } from "@klutch/crossplane";
import { wantedOf } from "../testing/catalog.ts";
import { checkServiceType } from "./brokers.ts";

const apiVersion = "dataservices.anynines.com/v1";

function binding(config: string, type = "postgresql"): ManagedServiceBinding {
  return {
    apiVersion,
    kind: "ServiceBinding",
    metadata: { name: "b", labels: { [instanceTypeLabel]: type } },
    spec: {
      providerConfigRef: { name: config },
      forProvider: { instanceName: "db", acceptsIncomplete: true },
    },
  };
}

function instance(config: string, labels: Readonly<Record<string, string>> = {}): ServiceInstance {
  return {
    apiVersion,
    kind: "ServiceInstance",
    metadata: { name: "db-x", labels },
    spec: { providerConfigRef: { name: config }, forProvider: wantedOf() },
  };
}

const inRegion = { [instanceTypeLabel]: "postgresql", [regionLabel]: "eu-1" };

test("a binding waits until it names the broker in the region of its instance, and is never sent to another one", () => {
  const composed = instance("pg-one", inRegion);
  assert.throws(
    () => checkServiceType(binding("postgresql-service-broker"), composed),
    (error) =>
      error instanceof NotYetError &&
      /made by the ProviderConfig pg-one; the binding goes there/.test(error.message),
  );
  checkServiceType(binding("pg-one"), composed);
});

test("a binding of another type than its instance in a region is refused with the type of the instance", () => {
  assert.throws(
    () => checkServiceType(binding("mariadb-service-broker", "mariadb"), instance("pg-one", inRegion)),
    (error) =>
      error instanceof ExternalError &&
      !(error instanceof NotYetError) &&
      /needs serviceInstanceType postgresql/.test(error.message),
  );
});

test("without a region, a binding that names another ProviderConfig is refused as before", () => {
  assert.throws(
    () =>
      checkServiceType(
        binding("postgresql-service-broker"),
        instance("pg-one", { [instanceTypeLabel]: "postgresql" }),
      ),
    (error) =>
      error instanceof ExternalError &&
      !(error instanceof NotYetError) &&
      /needs serviceInstanceType pg-one/.test(error.message),
  );
});
