/** Agents of both implementations take turns, people create and delete claims: what was made for a claim stays that claim's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAnnotation, clusterNamespaceAnnotation } from "@klutch/api";
import type { ObjectMeta } from "@klutch/kube-core";
import fc from "fast-check";
import { claimNamesOf, clusterScopedPlace, type ClusterScopedView, type Upstream } from "./cluster-scoped.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import type { Isolation } from "./namespaces.ts";
import { planPair } from "./object-plan.ts";
import { consumerWidget, tenant, copied } from "./testing/objects.ts";

type Agent = "go" | Isolation;

type Event =
  | { readonly do: "create" | "delete"; readonly claim: string }
  | { readonly do: "change agent"; readonly agent: Agent };

interface Made extends Upstream {
  /** The claim, and which of that name. */
  readonly madeFor: string;
}

class History {
  readonly #claims = new Map<string, { readonly id: string; isDeleting: boolean }>();
  readonly #upstream = new Map<string, Made>();
  #ids = 0;
  #agent: Agent = "go";
  readonly deleted: Made[] = [];

  happen(event: Event): void {
    if (event.do === "change agent") this.#agent = event.agent;
    else if (event.do === "create" && !this.#claims.has(event.claim))
      this.#claims.set(event.claim, { id: `${event.claim} ${++this.#ids}`, isDeleting: false });
    else if (event.do === "delete") {
      const claim = this.#claims.get(event.claim);
      if (claim !== undefined) claim.isDeleting = true;
    }
    // Everything is reconciled until nothing changes, in whichever order.
    for (let round = 0; round < 6; round++) this.#work();
    this.#check(event);
  }

  #work(): void {
    const names = new Set(this.#claims.keys());
    for (const object of this.#upstream.values())
      for (const name of claimNamesOf(tenant, object)) names.add(name);
    for (const name of names) {
      if (this.#agent === "go") this.#workAsGo(name);
      else this.#workAsOurs(name, this.#agent === "Namespaced" ? "Prefixed" : this.#agent);
    }
  }

  /** It knows prefixed names only, and does not delete what has none. */
  #workAsGo(name: string): void {
    const claim = this.#claims.get(name);
    const onProvider = `${tenant.namespace}-${name}`;
    if (claim === undefined) return;
    if (claim.isDeleting) {
      this.#upstream.delete(onProvider);
      this.#claims.delete(name);
    } else if (!this.#upstream.has(onProvider)) this.#make(onProvider, claim.id, {}, true);
  }

  #workAsOurs(name: string, isolation: Isolation): void {
    const view: ClusterScopedView<Made> = {
      hasClaim: (other) => this.#claims.has(other),
      upstream: (other) => this.#upstream.get(other),
    };
    const place = clusterScopedPlace(tenant, name, isolation, view);
    const claim = this.#claims.get(name);
    const deletion = claim?.isDeleting === true ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
    const { steps, waiting } = planPair({
      ref: { name },
      mapping: { state: "missing" },
      tenant,
      rule: defaultMetadataRule,
      ...copied,
      isolation,
      target: { name: place.name },
      isOthers: place.upstream !== undefined && !place.isOwn,
      consumer:
        claim === undefined ? undefined : consumerWidget({}, { name, namespace: undefined, ...deletion }),
      provider:
        place.upstream === undefined ? undefined : { apiVersion: "v1", kind: "Widget", ...place.upstream },
    });
    for (const step of steps) {
      if (step.do === "deleteProvider") this.#delete(step.ref.name);
      if (step.do === "removeFinalizer") this.#claims.delete(name);
      if (step.do === "applyProvider" && claim !== undefined) {
        if (place.upstream !== undefined)
          assert.equal(place.upstream.madeFor, claim.id, `${name} takes what was made for another`);
        const { hasLegacy = false } = place.upstream ?? {};
        this.#make(place.name, claim.id, step.content.metadata.annotations ?? {}, hasLegacy);
      }
    }
    if (waiting !== "orphanConfirmation" || place.upstream === undefined) return;
    if (!claimNamesOf(tenant, place.upstream).some((other) => this.#claims.has(other)))
      this.#delete(place.name);
  }

  #make(name: string, madeFor: string, annotations: ObjectMeta["annotations"], hasLegacy: boolean): void {
    const marks = { [boundAnnotation]: "true", [clusterNamespaceAnnotation]: tenant.namespace };
    this.#upstream.set(name, {
      metadata: { name, uid: name, annotations: { ...marks, ...annotations } },
      madeFor,
      hasLegacy,
    });
  }

  #delete(name: string): void {
    const object = this.#upstream.get(name);
    if (object !== undefined) this.deleted.push(object);
    this.#upstream.delete(name);
  }

  #check(event: Event): void {
    const alive = new Set(
      [...this.#claims.values()].filter(({ isDeleting }) => !isDeleting).map(({ id }) => id),
    );
    for (const { madeFor, metadata } of this.deleted)
      assert.ok(
        !alive.has(madeFor),
        `after ${JSON.stringify(event)}: ${metadata.name} was deleted, but its claim lives`,
      );
  }
}

const claims = fc.constantFrom("north", "south", "cluster-a-north", "cluster-a-cluster-a-north");
const isolations = fc.constantFrom<Isolation>("Prefixed", "None", "Namespaced");
const events = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("create" as const), claim: claims }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), claim: claims }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("change agent" as const),
      agent: isolations,
    }),
  },
);

test("from the Go agent to ours, and from isolation to isolation: no claim loses its object, and none takes another's", () => {
  fc.assert(
    fc.property(
      fc.array(claims, { maxLength: 4 }),
      isolations,
      fc.array(events, { maxLength: 12 }),
      (before, first, later) => {
        const history = new History();
        for (const claim of before) history.happen({ do: "create", claim });
        history.happen({ do: "change agent", agent: first });
        for (const event of later) history.happen(event);
      },
    ),
    { numRuns: 3_000 },
  );
});
