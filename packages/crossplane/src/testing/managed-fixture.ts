/**
 * A provider of one managed kind as it runs in its pod: the model of an API server, an informer, a controller, the managed reconcile and
 * a fake backend, all in virtual time. The provider's process can crash at each effect; another one is started at once.
 */
import assert from "node:assert/strict";
import type { KubeClient } from "@klutch/kube";
import {
  findCondition,
  keyOf,
  type KubeObject,
  type ObjectRef,
  type ResourceType,
  type Secret,
  secrets,
} from "@klutch/kube-core";
import { Controller, Informer } from "@klutch/kube-runtime";
import {
  ApiServerModel,
  Effects,
  type FaultSource,
  seededRandom,
  VirtualClock,
  withEffects,
} from "@klutch/kube-testing";
import { keysOfManagedChange } from "../managed/changes.ts";
import type { CriticalAnnotationUpdate, ExternalClient, Managed, Observation } from "../managed/external.ts";
import { createManagedReconcile, type ManagedReconcilerOptions } from "../managed/reconciler.ts";
import { Backend } from "./backend.ts";

/** The managed kind. */
export interface CrateObject extends Managed {
  readonly spec: Managed["spec"] & { readonly size: number };
  readonly status?: (NonNullable<Managed["status"]> & { readonly size?: number | undefined }) | undefined;
}

export const crateType: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "crates",
  kind: "Crate",
  namespaced: false,
};
/** Annotation in which the external client records the id before it creates. */
export const idAnnotation = "example.org/crate-id";
export const secretRef = { namespace: "default", name: "crate-credentials" };

/** The parts that tests replace. */
export type ReconcilerChanges = Partial<
  Pick<
    ManagedReconcilerOptions<CrateObject>,
    "connect" | "neverCreated" | "deadlineMs" | "pollIntervalMs" | "onProblem" | "metrics"
  >
>;

/** Options of a fixture. */
export interface FixtureOptions {
  readonly effects?: Effects | undefined;
  /** Time that the backend takes to create and to delete. Default 0. */
  readonly takesMs?: number | undefined;
  /** True when the kind is namespaced; the object is then in the namespace of its Secret. Default false. */
  readonly namespaced?: boolean | undefined;
  readonly reconciler?: ReconcilerChanges | undefined;
  readonly seed?: number | undefined;
  /** Faults of the connection between the provider and its API server. Default none. */
  readonly faults?: FaultSource | undefined;
}

/** Everything that one test needs; processes run until it is disposed. */
export class Fixture implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly server: ApiServerModel;
  readonly backend: Backend;
  readonly effects: Effects;
  /** The user. */
  readonly user: KubeClient;
  /** Number of process starts. */
  starts = 0;
  readonly #options: FixtureOptions;
  readonly #type: ResourceType;
  readonly #box: ObjectRef;
  #process: AsyncDisposable | undefined;
  readonly #ended: Promise<void>[] = [];

  constructor(options: FixtureOptions = {}) {
    this.#options = options;
    const { namespaced = false } = options;
    this.#type = { ...crateType, namespaced };
    this.#box = { ...(namespaced ? { namespace: secretRef.namespace } : {}), name: "box" };
    this.server = new ApiServerModel({ clock: this.clock, uidSeed: options.seed ?? 1 });
    this.server.register({ type: this.#type, statusSubresource: true });
    this.backend = new Backend({ clock: this.clock, takesMs: options.takesMs });
    this.effects = options.effects ?? new Effects();
    this.user = this.server.client({ clusterName: "user" });
  }

  /** Starts the provider; when it crashes, the next one starts. */
  start(): void {
    this.starts++;
    const stop = new AbortController();
    const effect = this.effects.ofProcess(() => {
      stop.abort(new Error("crashed"));
      this.start();
    });
    const { faults, reconciler } = this.#options;
    const client = withEffects(this.server.client({ clusterName: "provider", faults }), effect);
    const random = seededRandom((this.#options.seed ?? 1) + this.starts);
    const { clock } = this;
    const informer = new Informer<CrateObject>({
      client,
      type: this.#type,
      transform: asCrate,
      clock,
      random,
    });
    const reconcile = createManagedReconcile<CrateObject>({
      client,
      type: this.#type,
      informer,
      connect: async (managed, { updateCriticalAnnotations }) =>
        createCrateClient(managed, updateCriticalAnnotations, this.backend, effect),
      clock,
      random,
      ...reconciler,
    });
    const controller = new Controller({ name: "crate", reconcile, baseDelayMs: 1_000, clock, random });
    controller.watch(informer, keysOfManagedChange([idAnnotation]));
    informer.start({ signal: stop.signal });
    const running = informer
      .whenSynced({ signal: stop.signal })
      .then(() => controller.start({ signal: stop.signal }))
      .catch(() => undefined);
    this.#ended.push(running);
    this.#process = {
      async [Symbol.asyncDispose]() {
        stop.abort(new Error("the test ended"));
        await informer[Symbol.asyncDispose]();
      },
    };
  }

  /** The user's object. */
  async create(
    changes: { readonly spec?: object; readonly annotations?: Record<string, string> } = {},
  ): Promise<void> {
    const secret = this.#type.namespaced ? { name: secretRef.name } : secretRef;
    await this.user.create(this.#type, {
      apiVersion: "example.org/v1",
      kind: "Crate",
      metadata: { ...this.#box, annotations: changes.annotations },
      spec: { size: 1, writeConnectionSecretToRef: secret, ...changes.spec },
    });
  }

  async patch(patch: object): Promise<void> {
    await this.user.mergePatch(this.#type, this.#box, patch);
  }

  async delete(): Promise<void> {
    await this.user.delete(this.#type, this.#box);
  }

  async managed(): Promise<CrateObject | undefined> {
    return this.user.find<CrateObject>(this.#type, this.#box);
  }

  async secret(): Promise<Secret | undefined> {
    return this.user.find<Secret>(secrets, secretRef);
  }

  /** `status reason`, and the message if there is one, of a condition; undefined without it. */
  async condition(type: "Ready" | "Synced"): Promise<string | undefined> {
    const found = findCondition((await this.managed())?.status?.conditions, type);
    if (found === undefined) return undefined;
    return [found.status, found.reason, found.message].filter((text) => text !== undefined).join(" ");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
    await this.clock.advance(0);
  }
}

function asCrate(object: KubeObject): CrateObject {
  const { spec } = object;
  if (typeof spec !== "object" || spec === null || !("size" in spec) || typeof spec.size !== "number")
    throw new Error(`${keyOf(object)} has no size`);
  return object as CrateObject;
}

type Effect = <T>(what: string, run: () => Promise<T>) => Promise<T>;

/** The external client: records the id before it creates, so that it finds what it made. */
export function createCrateClient(
  managed: CrateObject,
  updateCriticalAnnotations: CriticalAnnotationUpdate,
  backend: Backend,
  effect: Effect,
): ExternalClient {
  let id = managed.metadata.annotations?.[idAnnotation];
  const { size } = managed.spec;
  const known = (): string => {
    if (id === undefined) throw new Error("nothing was created");
    return id;
  };
  return {
    async observe(): Promise<Observation> {
      const crate = id === undefined ? undefined : backend.crates.get(id);
      if (crate === undefined) return { exists: false, upToDate: false, ready: "creating" };
      return {
        exists: true,
        // It cannot be changed earlier.
        upToDate: crate.size === size || crate.state !== "available",
        ready: crate.state,
        status: { size: crate.size },
        connection: crate.state === "available" ? { id: known() } : undefined,
        pollAfterMs: crate.state === "available" ? undefined : 10_000,
      };
    },
    async create() {
      if (id === undefined) {
        id = `crate-${managed.metadata.uid ?? ""}-${backend.created.length}`;
        await updateCriticalAnnotations({ [idAnnotation]: id });
      }
      await effect("create crate", async () => backend.create(known(), size));
    },
    update: () => effect("resize crate", async () => backend.resize(known(), size)),
    delete: () => effect("delete crate", async () => backend.delete(known())),
  };
}

/** Observation of an external resource that matches its spec. */
export const present: Observation = { exists: true, upToDate: true, ready: "available" };

/** An external client of which each test says what matters to it; the rest must not be called. */
export function external(calls: Partial<ExternalClient>): ExternalClient {
  const unexpected = (name: string) => async () => assert.fail(`${name} was called`);
  return {
    observe: async () => present,
    create: unexpected("create"),
    update: unexpected("update"),
    delete: unexpected("delete"),
    ...calls,
  };
}

/** A running fixture whose object has settled. */
export async function settled(fixture: Fixture, spec: object = {}): Promise<void> {
  fixture.start();
  await fixture.create({ spec });
  await fixture.clock.advance(300_000);
}
