import assert from "node:assert/strict";
import { test } from "node:test";
import { ExternalError } from "@klutch/crossplane";
import type { Catalog } from "@klutch/osb";
import fc from "fast-check";
import { catalogOf } from "../testing/catalog.ts";
import { findPlan, livingPlan, type MadeInstance } from "./plan-lookup.ts";

const nano = { id: "n", name: "nano" };
const names = { serviceName: "service", planName: "nano" };
const twice = ({ services }: Catalog, changes: object): Catalog => ({
  services: services.flatMap((service) => [service, { ...service, ...changes }]),
});

function refusalOf(catalog: Catalog, made?: MadeInstance): string {
  try {
    findPlan(catalog, names, made);
  } catch (error) {
    assert.ok(error instanceof ExternalError && error.reason === "Refused", String(error));
    return error.message;
  }
  return assert.fail("a plan was chosen");
}

test("a catalog with duplicates makes nothing new, and the refusal names the duplicate", () => {
  const twoPlans = catalogOf({}, [nano, { ...nano, id: "other" }]);
  assert.match(
    refusalOf(twoPlans),
    /^the broker's catalog has 2 plans named "nano" in service; only one can be$/,
  );
  const oneId = catalogOf({}, [nano, { id: "n", name: "big" }]);
  assert.match(refusalOf(oneId), /gives the plans "nano" and "big" the same id "n"; each must have its own$/);
  const one = catalogOf({}, [nano]);
  assert.match(refusalOf(twice(one, { id: "t" })), /has 2 services named "service"; only one can be$/);
  const across = twice(one, { id: "t", name: "other", plans: [{ ...nano, description: "" }] });
  assert.match(refusalOf(across), /the same id "n"/);
});

test("of offerings that differ in their a9s suffix a new instance gets the first one", () => {
  const second = { id: "t", name: "service-ms-2", plans: [{ ...nano, id: "other", description: "" }] };
  const suffixed = twice(catalogOf({ name: "service-ms-1" }, [nano]), second);
  assert.equal(findPlan(suffixed, names).service.name, "service-ms-1");
});

test("an instance that exists has the one of two that it was made with, also without a record", () => {
  const made: MadeInstance = { ids: { serviceId: "s", planId: "other" }, isAsMade: undefined };
  const twoPlans = catalogOf({}, [nano, { ...nano, id: "other" }]);
  assert.equal(findPlan(twoPlans, names, made).plan.id, "other");
  const suffixed = twice(catalogOf({ name: "service-ms-1" }, [nano]), {
    id: "t",
    name: "service-ms-2",
    plans: [{ ...nano, id: "other", description: "" }],
  });
  assert.equal(findPlan(suffixed, names, { ...made, ids: { serviceId: "t" } }).service.id, "t");
  const oneId = catalogOf({}, [nano, { id: "n", name: "big" }]);
  const nanoMade: MadeInstance = { ids: { serviceId: "s", planId: "n" }, isAsMade: true };
  assert.equal(findPlan(oneId, names, nanoMade).plan.name, "nano");
  // A change between the two could not be told from none.
  assert.match(refusalOf(oneId, { ...nanoMade, isAsMade: false }), /the same id/);
});

test("whatever becomes of a catalog, an instance as it was made keeps its ids or changes its plan within its service", () => {
  const word = fc.constantFrom("a", "b", "service", "service-ms-1", "nano", "s", "n");
  const plan = fc.record({ id: word, name: word, description: fc.constant("") });
  const service = fc.record({
    id: word,
    name: word,
    description: fc.constant(""),
    bindable: fc.boolean(),
    instancesRetrievable: fc.boolean(),
    bindingsRetrievable: fc.boolean(),
    planUpdateable: fc.boolean(),
    plans: fc.array(plan, { maxLength: 3 }),
  });
  const made: MadeInstance = { ids: { serviceId: "s", planId: "n" }, isAsMade: true };
  fc.assert(
    fc.property(fc.array(service, { maxLength: 3 }), (services) => {
      const found = livingPlan({ services }, names, made);
      assert.equal(found.serviceId, "s");
      if (found.notice !== undefined) assert.equal(found.planId, "n");
    }),
  );
});
