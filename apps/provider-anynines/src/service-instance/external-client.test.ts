import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceInstance, ServiceInstanceObservation } from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { type OsbClient, OsbError, type Outcome, type ProvisionRequest } from "@klutch/osb";
import { RestPace } from "../broker/rest-pace.ts";
import { catalogOf, wantedOf } from "../testing/catalog.ts";
import { ServiceInstanceClient } from "./external-client.ts";

const catalog = catalogOf();

class Crash extends Error {}

/** Ends the process before or after the step of that number. Only a fake can end it at each of them. */
class Crashes {
  readonly #at: number;
  #step = 0;
  constructor(at: number) {
    this.#at = at;
  }
  get happened(): boolean {
    return this.#step >= this.#at;
  }
  async around<T>(effect: () => T): Promise<T> {
    await this.#point();
    const result = effect();
    await this.#point();
    return result;
  }
  async #point(): Promise<void> {
    this.#step++;
    await Promise.resolve();
    if (this.#step === this.#at) throw new Crash();
  }
}

const gone = (status: number): OsbError =>
  new OsbError({ status, error: "InstanceNotFound", description: "", own: true, action: "" });

/** A broker in memory that keeps what failed, refuses other parameters for it, and never takes an id twice. */
class MemoryBroker {
  readonly instances = new Map<string, { readonly parameters: unknown; readonly isGood: boolean }>();
  readonly #former = new Set<string>();
  crashes = new Crashes(Number.POSITIVE_INFINITY);

  readonly osb = {
    provision: ({ instanceId, parameters }: ProvisionRequest): Promise<Outcome> =>
      this.crashes.around(() => {
        const present = this.instances.get(instanceId);
        const conflict =
          present !== undefined && JSON.stringify(present.parameters) !== JSON.stringify(parameters);
        if (conflict || this.#former.has(instanceId)) {
          throw new OsbError({ status: 409, error: "Exists", description: "", own: true, action: "" });
        }
        this.instances.set(instanceId, { parameters, isGood: parameters?.["bad"] !== true });
        return { kind: "accepted" as const, operation: "provision" };
      }),
    deprovision: ({ instanceId }: { readonly instanceId: string }): Promise<Outcome> =>
      this.crashes.around(() => {
        if (!this.instances.delete(instanceId)) throw gone(410);
        this.#former.add(instanceId);
        return { kind: "accepted" as const, operation: "deprovision" };
      }),
    lastOperation: async ({ instanceId }: { readonly instanceId: string }) => {
      const present = this.instances.get(instanceId);
      if (present === undefined) throw gone(410);
      return {
        state: present.isGood ? ("succeeded" as const) : ("failed" as const),
        description: "so it is",
      };
    },
    fetchInstance: async (instanceId: string) => {
      const present = this.instances.get(instanceId);
      if (present?.isGood !== true) throw gone(404);
      return { planId: "p", serviceId: "s", parameters: { ...(present.parameters as object) } };
    },
  } as unknown as OsbClient;
}

/** The object at the API server, and one reconcile of it. */
class Stored {
  #managed: ServiceInstance;

  constructor(parameters: Readonly<Record<string, unknown>>) {
    this.#managed = {
      apiVersion: "dataservices.anynines.com/v1",
      kind: "ServiceInstance",
      metadata: { name: "one", uid: "uid", generation: 1 },
      spec: {
        forProvider: wantedOf({ parameters }),
      },
    };
  }

  get instanceId(): string | undefined {
    return this.#managed.status?.atProvider?.instanceId;
  }

  /** As a version without our annotations left an instance whose provision failed and whose spec was corrected. */
  forgetAnnotations(): void {
    this.#managed = { ...this.#managed, metadata: { ...this.#managed.metadata, annotations: {} } };
  }

  report(fields: ServiceInstanceObservation): void {
    const { status } = this.#managed;
    this.#managed = {
      ...this.#managed,
      status: { ...status, atProvider: { ...status?.atProvider, ...fields } },
    };
  }

  edit(parameters: Readonly<Record<string, unknown>>): void {
    const { spec, metadata } = this.#managed;
    this.#managed = {
      ...this.#managed,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...spec, forProvider: { ...spec.forProvider, parameters } },
    };
  }

  async reconcile(
    broker: MemoryBroker,
  ): Promise<{ readonly ready: string; readonly message?: string | undefined }> {
    const client = new ServiceInstanceClient({
      managed: this.#managed,
      broker: { osb: broker.osb, catalog: () => Promise.resolve(catalog) },
      updateCriticalAnnotations: (annotations) =>
        broker.crashes.around(() => {
          const { metadata } = this.#managed;
          const written = Object.entries({ ...metadata.annotations, ...annotations });
          const kept = written.filter((entry): entry is [string, string] => entry[1] !== undefined);
          this.#managed = {
            ...this.#managed,
            metadata: { ...metadata, annotations: Object.fromEntries(kept) },
          };
        }),
      clock: systemClock,
      users: () => ({ restores: [], bindings: [], backups: [] }),
      losses: () => ({ config: "c", target: "c", missing: 1, all: 1, accepted: false }),
      confirmLossMs: 0,
      pace: new RestPace({ clock: systemClock, intervalMs: 0 }),
    });
    const { signal } = new AbortController();
    let observed = await client.observe({ signal });
    if (!observed.exists) {
      await client.create({ signal });
      observed = await client.observe({ signal });
    }
    await broker.crashes.around(() => {
      this.#managed = { ...this.#managed, status: { ...this.#managed.status, ...observed.status } };
    });
    return observed;
  }
}

test("a repair that is ended before or after any of its steps goes on, and one good instance is the outcome", async () => {
  let steps = 0;
  for (let at = 1; ; at++) {
    const broker = new MemoryBroker();
    const stored = new Stored({ bad: true });
    while ((await stored.reconcile(broker)).ready !== "unavailable");
    stored.edit({ bad: false });
    broker.crashes = new Crashes(at);
    for (let reconciles = 0; ; reconciles++) {
      assert.ok(reconciles < 20, `the instance never became ready after an end at step ${at}`);
      try {
        if ((await stored.reconcile(broker)).ready === "available") break;
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
      }
    }
    assert.deepEqual([...broker.instances.keys()], [stored.instanceId], `after an end at step ${at}`);
    if (!broker.crashes.happened) break;
    steps = at;
  }
  assert.ok(steps >= 12, `only ${steps} steps`);
});

test("a failed instance that was stuck before repairs were known is repaired too", async () => {
  const broker = new MemoryBroker();
  const stored = new Stored({ bad: true });
  while ((await stored.reconcile(broker)).ready !== "unavailable");
  stored.forgetAnnotations();
  stored.edit({ bad: false });
  let reconciles = 0;
  while ((await stored.reconcile(broker)).ready !== "available") assert.ok(++reconciles < 10);
  assert.deepEqual([...broker.instances.keys()], [stored.instanceId]);
});

test("what was once in use is never cleared away, whatever state is noted of it", async () => {
  const broker = new MemoryBroker();
  const stored = new Stored({ bad: false });
  while ((await stored.reconcile(broker)).ready !== "available");
  const [id = ""] = broker.instances.keys();
  stored.forgetAnnotations();
  stored.edit({ bad: true });
  stored.report({ state: "failed" });
  broker.osb.fetchInstance = () => Promise.reject(gone(404));
  for (let time = 0; time < 5; time++) await stored.reconcile(broker);
  assert.deepEqual([...broker.instances.keys()], [id]);
});
