import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAnnotation, clusterNamespaceAnnotation, consumerNameAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import fc from "fast-check";
import {
  claimNameOf,
  claimNamesOf,
  type ClusterScopedPlace,
  clusterScopedPlace,
  type ClusterScopedView,
  type Upstream,
  upstreamNamesOf,
} from "./cluster-scoped.ts";
import { isBound } from "./content.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import type { Isolation } from "./namespaces.ts";
import { type PairPlan, planPair } from "./object-plan.ts";
import { consumerWidget, tenant, copied } from "./testing/objects.ts";
import { planUnbind } from "./unbind.ts";

/** The names that agents have given to the upstream object of a claim. */
type Maker = "go" | "ours, Prefixed" | "ours, None" | "ours, None, before it named its claim";

interface Fixture {
  readonly claims: ReadonlySet<string>;
  readonly upstream: ReadonlyMap<string, Upstream>;
}

function upstreamOf(claim: string, maker: Maker): Upstream {
  const name = maker.startsWith("ours, None") ? claim : `${tenant.namespace}-${claim}`;
  const annotations = {
    [boundAnnotation]: "true",
    [clusterNamespaceAnnotation]: tenant.namespace,
    ...(maker === "ours, None" ? { [consumerNameAnnotation]: claim } : {}),
  };
  return { metadata: { name, uid: `${maker} ${claim}`, annotations }, hasLegacy: maker === "go" };
}

const viewOf = ({ claims, upstream }: Fixture): ClusterScopedView => ({
  hasClaim: (name) => claims.has(name),
  upstream: (name) => upstream.get(name),
});

/** The agent's decision for one name, as its reader assembles it. */
function decide(fixture: Fixture, name: string, isolation: Isolation): PairPlan {
  const view = viewOf(fixture);
  const place: ClusterScopedPlace = clusterScopedPlace(tenant, name, isolation, view);
  const found = place.upstream;
  const provider: DynamicObject | undefined =
    found === undefined ? undefined : { apiVersion: "example.org/v1", kind: "Widget", ...found };
  return planPair({
    ref: { name },
    mapping: { state: "missing" },
    tenant,
    rule: defaultMetadataRule,
    ...copied,
    isolation,
    target: { name: place.name },
    isOthers: found !== undefined && !place.isOwn,
    consumer: fixture.claims.has(name) ? consumerWidget({ a: 1 }, { name, namespace: undefined }) : undefined,
    provider,
  });
}

const names = fc.constantFrom("north", "south", "cluster-a-north", "cluster-a-cluster-a-north", "cluster-a");
const makers = fc.constantFrom<Maker>(
  "go",
  "ours, Prefixed",
  "ours, None",
  "ours, None, before it named its claim",
);
const isolations = fc.constantFrom<Isolation>("Prefixed", "None");
const fixtures = fc.record({
  claims: fc.uniqueArray(names),
  made: fc.array(fc.record({ claim: names, maker: makers }), { maxLength: 8 }),
});

function build({
  claims,
  made,
}: {
  claims: readonly string[];
  made: readonly { claim: string; maker: Maker }[];
}): Fixture {
  const upstream = new Map<string, Upstream>();
  for (const { claim, maker } of made) {
    const object = upstreamOf(claim, maker);
    upstream.set(object.metadata.name ?? "", object);
  }
  return { claims: new Set(claims), upstream };
}

test("no upstream object that an existing claim explains, under whichever naming, is ever deleted or held for an orphan", () => {
  fc.assert(
    fc.property(fixtures, isolations, (parts, isolation) => {
      const fixture = build(parts);
      for (const name of new Set([...fixture.claims, ...fixture.upstream.keys(), "north", "south"])) {
        const { steps, waiting } = decide(fixture, name, isolation);
        assert.ok(!steps.some((step) => step.do === "deleteProvider" || step.do === "createConsumer"));
        if (waiting !== "orphanConfirmation") continue;
        const { upstream } = clusterScopedPlace(tenant, name, isolation, viewOf(fixture));
        assert.ok(upstream !== undefined);
        const explaining = claimNamesOf(tenant, upstream).filter((claim) => fixture.claims.has(claim));
        assert.deepEqual(explaining, [], `${upstream.metadata.uid} is explained`);
      }
    }),
    { numRuns: 3_000 },
  );
});

test("no upstream object serves two claims, and none that is free is left out", () => {
  fc.assert(
    fc.property(fixtures, isolations, (parts, isolation) => {
      const fixture = build(parts);
      const view = viewOf(fixture);
      const served = new Map<string, string>();
      for (const claim of fixture.claims) {
        const place = clusterScopedPlace(tenant, claim, isolation, view);
        if (!place.isOwn) continue;
        assert.equal(served.get(place.name), undefined, `${place.name} serves two`);
        served.set(place.name, claim);
      }
      for (const object of fixture.upstream.values()) {
        const owner = claimNameOf(tenant, object, isolation, view);
        assert.ok(owner !== undefined);
        assert.ok(upstreamNamesOf(tenant, owner).includes(object.metadata.name ?? ""));
      }
    }),
    { numRuns: 3_000 },
  );
});

test("the existing upstream object of a claim keeps its name, whichever agent created it, and no second one is created", () => {
  const makersOf: readonly Maker[] = [
    "go",
    "ours, Prefixed",
    "ours, None",
    "ours, None, before it named its claim",
  ];
  for (const maker of makersOf) {
    for (const isolation of ["Prefixed", "None"] as const) {
      const object = upstreamOf("north", maker);
      const fixture = build({ claims: ["north"], made: [{ claim: "north", maker }] });
      assert.deepEqual(clusterScopedPlace(tenant, "north", isolation, viewOf(fixture)), {
        name: object.metadata.name,
        upstream: object,
        isOwn: true,
        second: undefined,
      });
      const [step] = decide(fixture, "north", isolation).steps;
      assert.ok(step?.do === "applyProvider");
      assert.equal(step.uid, object.metadata.uid);
      assert.equal(step.content.metadata.name, object.metadata.name);
    }
  }
});

test("a new claim gets the name that the isolation asks for", () => {
  const fixture = build({ claims: ["north"], made: [] });
  for (const [isolation, name] of [
    ["Prefixed", "cluster-a-north"],
    ["None", "north"],
  ] as const) {
    const [step] = decide(fixture, "north", isolation).steps;
    assert.ok(step?.do === "applyProvider");
    assert.equal(step.content.metadata.name, name);
  }
});

test("isolation None: a written object names its claim, so that its name alone need not identify it", () => {
  const fixture = build({ claims: ["cluster-a-north"], made: [] });
  const [step] = decide(fixture, "cluster-a-north", "None").steps;
  assert.ok(step?.do === "applyProvider");
  const written = { metadata: { ...step.content.metadata } };
  assert.deepEqual(claimNamesOf(tenant, written), ["cluster-a-north"]);
  const both = { claims: new Set(["north"]), upstream: new Map([["cluster-a-north", written]]) };
  assert.equal(clusterScopedPlace(tenant, "north", "None", viewOf(both)).isOwn, false);
});

test("isolation None: an older agent's object serves its claim, also beside a claim of the object's own name", () => {
  const fixture = build({ claims: ["north", "cluster-a-north"], made: [{ claim: "north", maker: "go" }] });
  const view = viewOf(fixture);
  assert.equal(clusterScopedPlace(tenant, "north", "None", view).name, "cluster-a-north");
  assert.equal(decide(fixture, "cluster-a-north", "None").waiting, "foreignObject");
});

test("a claim with two upstream objects uses the one in use and keeps the other, which takes its turn when the first is let go of", () => {
  const made = [
    { claim: "north", maker: "go" },
    { claim: "north", maker: "ours, None, before it named its claim" },
  ] as const;
  const fixture = build({ claims: ["north"], made });
  const place = clusterScopedPlace(tenant, "north", "None", viewOf(fixture));
  assert.deepEqual([place.name, place.second], ["cluster-a-north", "north"]);
  const released = {
    ...fixture,
    upstream: new Map(
      [...fixture.upstream].map(([name, object]) => [
        name,
        name === place.name
          ? {
              metadata: {
                ...object.metadata,
                annotations: { [clusterNamespaceAnnotation]: tenant.namespace },
              },
            }
          : object,
      ]),
    ),
  };
  assert.equal(clusterScopedPlace(tenant, "north", "None", viewOf(released)).name, "north");
  assert.ok(isBound(released.upstream.get("north") ?? { metadata: {} }));
});

test("another tenant's object, or one that names a claim it cannot stand for, is no one's", () => {
  const foreign = {
    metadata: { name: "cluster-a-north", annotations: { [clusterNamespaceAnnotation]: "cluster-b" } },
  };
  assert.deepEqual(claimNamesOf(tenant, foreign), []);
  const forged = {
    metadata: {
      name: "cluster-a-north",
      annotations: { [clusterNamespaceAnnotation]: tenant.namespace, [consumerNameAnnotation]: "south" },
    },
  };
  assert.deepEqual(claimNamesOf(tenant, forged), []);
});

test("unbinding never takes the mark off an object that serves another tenant, or another claim", () => {
  const consumer = consumerWidget({}, { name: "b-x", namespace: undefined });
  const provider: DynamicObject = {
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: {
      name: "cluster-a-b-x",
      annotations: { [boundAnnotation]: "true", [clusterNamespaceAnnotation]: "cluster-a-b" },
    },
  };
  const observed = {
    ref: { name: "b-x" },
    mapping: { state: "missing" },
    tenant,
    rule: defaultMetadataRule,
    ...copied,
    consumer,
    provider,
  } as const;
  const { steps } = planUnbind(observed, "Orphan");
  assert.deepEqual(
    steps.map((step) => step.do),
    ["unmarkConsumer"],
  );
  assert.deepEqual(planUnbind({ ...observed, consumer: undefined }, "Orphan").steps, []);
});
