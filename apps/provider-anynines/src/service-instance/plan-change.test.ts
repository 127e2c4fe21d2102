import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServiceInstance, usageAnnotation } from "@klutch/api";
import type { Observation } from "@klutch/crossplane";
import { systemClock } from "@klutch/kube";
import { type Catalog, type LastOperation, type OsbClient, OsbError, type Outcome } from "@klutch/osb";
import { RestPace } from "../broker/rest-pace.ts";
import { catalogOf, wantedOf } from "../testing/catalog.ts";
import { ServiceInstanceClient } from "./external-client.ts";

const plan = (name: string) => ({ id: `${name}-id`, name });
const catalog = catalogOf({ instancesRetrievable: false, bindingsRetrievable: false }, [
  plan("small"),
  plan("big"),
]);

/** An instance of plan small whose spec asks for big, and a broker that ends the change as it is told. */
class PlanChange {
  last: LastOperation["state"] = "in progress";
  answer: () => Promise<Outcome> = () => Promise.resolve({ kind: "accepted", operation: "update" });
  readonly asked: (string | undefined)[] = [];
  readonly sent: unknown[] = [];
  readonly sentFor: unknown[] = [];
  catalog: Catalog = catalog;
  #managed: ServiceInstance = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name: "one", uid: "uid", generation: 2 },
    spec: {
      forProvider: wantedOf({ planName: "big" }),
    },
    status: { atProvider: { serviceId: "s", planId: "small-id", state: "provisioned", provisionedAt: "t" } },
  };

  readonly #osb = {
    update: (request: Parameters<OsbClient["update"]>[0]): Promise<Outcome> => {
      const { parameters, serviceId, planId } = request;
      this.sent.push(parameters);
      this.sentFor.push([serviceId, planId]);
      return this.answer();
    },
    lastOperation: ({ planId }: Parameters<OsbClient["lastOperation"]>[0]): Promise<LastOperation> => {
      this.asked.push(planId);
      return Promise.resolve({ state: this.last, description: "no room" });
    },
  } as unknown as OsbClient;

  get planId(): string | undefined {
    return this.#managed.status?.atProvider?.planId;
  }

  /** As a person edits it. */
  edit(planName: string, parameters: Readonly<Record<string, unknown>>): void {
    const { metadata, spec } = this.#managed;
    this.#managed = {
      ...this.#managed,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...spec, forProvider: { ...spec.forProvider, planName, parameters } },
    };
  }

  /** Records the plan of the spec as the one that the instance has. */
  recordPlan(): void {
    const { metadata, spec } = this.#managed;
    const open = {
      service: "service",
      plan: spec.forProvider.planName,
      config: "c",
      from: "2026-11-01T00:00:00Z",
    };
    const annotations = { [usageAnnotation]: JSON.stringify({ closed: [], open }) };
    this.#managed = { ...this.#managed, metadata: { ...metadata, annotations } };
  }

  async reconcile(): Promise<Observation> {
    const client = new ServiceInstanceClient({
      managed: this.#managed,
      broker: { osb: this.#osb, catalog: () => Promise.resolve(this.catalog) },
      updateCriticalAnnotations: (annotations) => {
        const { metadata } = this.#managed;
        const written = Object.entries({ ...metadata.annotations, ...annotations });
        const kept = written.filter((entry): entry is [string, string] => entry[1] !== undefined);
        this.#managed = {
          ...this.#managed,
          metadata: { ...metadata, annotations: Object.fromEntries(kept) },
        };
        return Promise.resolve();
      },
      clock: systemClock,
      users: () => ({ restores: [], bindings: [], backups: [] }),
      losses: () => ({ config: "c", target: "c", missing: 1, all: 1, accepted: false }),
      confirmLossMs: 0,
      pace: new RestPace({ clock: systemClock, intervalMs: 0 }),
    });
    const { signal } = new AbortController();
    let observed = await client.observe({ signal });
    if (observed.exists && observed.upToDate !== true) {
      await client.update({ signal });
      observed = await client.observe({ signal });
    }
    this.#managed = { ...this.#managed, status: { ...this.#managed.status, ...observed.status } };
    return observed;
  }
}

test("while a change of plan is polled the broker is asked by the plan before it", async () => {
  const change = new PlanChange();
  await change.reconcile();
  await change.reconcile();
  assert.deepEqual(change.asked, ["small-id", "small-id"]);
  change.last = "succeeded";
  assert.equal((await change.reconcile()).ready, "available");
  assert.equal(change.planId, "big-id");
});

test("after a change of plan that failed the instance has the plan that it had", async () => {
  const change = new PlanChange();
  await change.reconcile();
  change.last = "failed";
  assert.equal((await change.reconcile()).failure, "update failed: no room");
  assert.equal(change.planId, "small-id");
});

const refused = new OsbError({
  status: 400,
  error: "BadRequest",
  description: "no such parameter",
  own: true,
  action: "update the instance",
  retryAfterMs: undefined,
});

test("a parameter that the broker refused is not asked for back when it is taken out of the spec", async () => {
  const change = new PlanChange();
  change.answer = () => Promise.resolve({ kind: "done" });
  change.edit("small", { kept: 1 });
  await change.reconcile();
  change.answer = () => Promise.reject(refused);
  change.edit("small", { kept: 1, wrong: 2 });
  await assert.rejects(change.reconcile(), /no such parameter/);
  change.edit("small", { kept: 1 });
  assert.equal((await change.reconcile()).ready, "available");
  assert.deepEqual(change.sent, [{ kept: 1 }, { wrong: 2 }]);
});

test("a parameter that the broker may have got is taken back, also when it refuses the second try", async () => {
  const change = new PlanChange();
  change.answer = () => Promise.reject(new Error("no answer"));
  change.edit("small", { wrong: 2 });
  await assert.rejects(change.reconcile(), /no answer/);
  change.answer = () => Promise.reject(refused);
  await assert.rejects(change.reconcile(), /no such parameter/);
  change.answer = () => Promise.resolve({ kind: "done" });
  change.edit("small", {});
  await change.reconcile();
  assert.deepEqual(change.sent, [{ wrong: 2 }, { wrong: 2 }, { wrong: null }]);
});

const withoutPlan = catalogOf({ instancesRetrievable: false }, [plan("big")]);

/** An instance of plan small, as a person made it. */
function atRest(): PlanChange {
  const living = new PlanChange();
  living.edit("small", {});
  living.recordPlan();
  living.answer = () => Promise.resolve({ kind: "done" });
  return living;
}

for (const [what, catalogNow] of [
  ["withdraws its plan", withoutPlan],
  ["withdraws its service", catalogOf({ name: "other", instancesRetrievable: false }, [plan("big")])],
  [
    "has two plans of its name",
    catalogOf({ instancesRetrievable: false }, [plan("small"), { ...plan("small"), id: "twin" }]),
  ],
] as const) {
  test(`an instance whose broker ${what} goes on with what it has, and its parameters can change`, async () => {
    const living = atRest();
    living.catalog = catalogNow;
    const { ready, upToDate } = await living.reconcile();
    assert.deepEqual([ready, upToDate, living.sentFor], ["available", true, []]);
    living.edit("small", { kept: 1 });
    await living.reconcile();
    assert.deepEqual(living.sentFor, [["s", "small-id"]]);
    assert.equal(living.planId, "small-id");
  });
}

test("a living instance says that its plan is withdrawn, and can change to one that is offered", async () => {
  const living = atRest();
  living.catalog = withoutPlan;
  const { message } = await living.reconcile();
  assert.match(message ?? "", /^it goes on as it was made, although no entry for the plan name "small"/);
  living.edit("big", {});
  assert.equal((await living.reconcile()).message, undefined);
  assert.deepEqual(living.sentFor, [["s", "big-id"]]);
});

test("an instance whose service has another id now keeps its own, and is never sent to the other", async () => {
  const living = atRest();
  const [service] = catalog.services;
  assert.ok(service !== undefined);
  living.catalog = { services: [{ ...service, id: "other" }] };
  assert.match(
    (await living.reconcile()).message ?? "",
    /has "service" under another id than this instance$/,
  );
  living.edit("small", { kept: 1 });
  await living.reconcile();
  assert.deepEqual(living.sentFor, [["s", "small-id"]]);
  living.edit("big", {});
  await assert.rejects(living.reconcile(), /cannot be changed.*of the service id s, the spec of other/);
});
