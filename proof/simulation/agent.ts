/** Agents in virtual time: the konnector itself, with clients of models, and a kill that no part of it survives. */
import { runAgent } from "@klutch/konnector";
import type {
  ClusterConfig,
  KubeClient,
  ListOptions,
  ListPage,
  Random,
  ReadOptions,
  WatchEvent,
  WatchOptions,
} from "@klutch/kube";
import type { KubeObject, ObjectMeta, ObjectRef, ResourceType } from "@klutch/kube-core";
import type { ApiServerModel, FaultSource, VirtualClock } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import type { SimulatedTenant } from "./tenant.ts";

export interface AgentOptions {
  readonly tenant: SimulatedTenant;
  readonly provider: ApiServerModel;
  readonly identity: string;
  readonly faults: FaultSource;
  readonly clock: VirtualClock;
  readonly random: Random;
  /** Changes the agent's writes, to see that the observers notice a bad agent. */
  readonly tamper?: Tamper | undefined;
  /** Changes the objects in the provider's answers and watches. */
  readonly distort?: Distort | undefined;
  /** Changes the objects that the agent reads in its app cluster, to see that the observers notice a bad agent. */
  readonly misread?: Distort | undefined;
  /** Asked at each list of the provider whether it never comes to an end. Default: it does. */
  readonly isEndless?: (() => boolean) | undefined;
  /** Default 1000. */
  readonly providerObjectsLimit?: number | undefined;
  /** Reads both objects of each pair each time. Default false. */
  readonly naiveStore?: boolean | undefined;
  /** Called with every write just before it is sent. */
  readonly onWrite: (write: AgentWrite) => void;
}

/** Returns the object that is shown instead of `object`. */
export type Distort = <T extends KubeObject>(type: ResourceType, object: T) => T;

/** Returns the body that is written instead of `body`. */
export type Tamper = <T>(side: "consumer" | "provider", verb: string, type: ResourceType, body: T) => T;

/** A write of an agent. */
export interface AgentWrite {
  readonly identity: string;
  readonly side: "consumer" | "provider";
  readonly verb: string;
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly name: string;
  /** Object, patch or list of operations; undefined for a delete. */
  readonly body: unknown;
}

/** An agent that runs. */
export interface SimulatedAgent {
  readonly identity: string;
  /** Set when it ended by itself, which it must not. */
  readonly failure: () => unknown;
  /** Ends the agent like SIGKILL: nothing it has begun goes on, but requests on the wire may still arrive. */
  readonly kill: () => void;
}

/** Starts one. */
export function startAgent(options: AgentOptions): SimulatedAgent {
  const { tenant, provider, identity, faults, clock, random } = options;
  const stop = new AbortController();
  let isDead = false;
  let failure: unknown;
  const mortal = <T>(promise: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      promise.then(
        (value) => isDead || resolve(value),
        (error: unknown) => isDead || reject(error),
      );
    });
  const running = runAgent({
    config: {
      leaseName: "klutch-bind",
      leaseNamespace: "klutch-bind",
      identity,
      installCrd: true,
      timing: {
        graceMs: 3_000,
        schemaSettlesMs: 5_000,
        massDeletionLimit: 0,
        providerObjectsLimit: options.providerObjectsLimit ?? 1_000,
      },
      controlPlane: undefined,
    },
    cluster: tenant.config,
    logger: silentLogger,
    metrics: createMetrics(),
    signal: stop.signal,
    clock: mortalClock(clock, mortal, () => isDead),
    random,
    naiveStore: options.naiveStore,
    createClient: (config: ClusterConfig, clientOptions) => {
      const side = config.server === "https://provider" ? "provider" : "consumer";
      const model = side === "provider" ? provider : tenant.consumer;
      const writeGuard = clientOptions?.writeGuard;
      const clusterName = `${tenant.name}-${side}`;
      const client = model.client({ clusterName, faults, user: "konnector", writeGuard });
      const { tamper } = options;
      return observed(client, {
        mortal,
        change: (verb, type, body) => (tamper === undefined ? body : tamper(side, verb, type, body)),
        distort: (side === "provider" ? options.distort : options.misread) ?? ((_type, object) => object),
        isEndless: (side === "provider" ? options.isEndless : undefined) ?? (() => false),
        onWrite: (verb, type, { namespace, name = "" }, body) => {
          // The lease's own client has no guard, and what it writes is no work.
          if (writeGuard !== undefined)
            options.onWrite({ identity, side, verb, type, namespace, name, body });
        },
      });
    },
  });
  running.catch((error: unknown) => {
    if (!stop.signal.aborted) failure = error;
  });
  return {
    identity,
    failure: () => failure,
    kill() {
      isDead = true;
      stop.abort(new Error("killed"));
    },
  };
}

/** A clock whose timers die with their owner. */
function mortalClock(clock: VirtualClock, mortal: Observer["mortal"], isDead: () => boolean): VirtualClock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (delayMs: number, sleepOptions?: { readonly signal?: AbortSignal | undefined }) =>
      mortal(clock.sleep(delayMs, sleepOptions)),
    schedule: (delayMs: number, callback: () => void) =>
      clock.schedule(delayMs, () => {
        if (!isDead()) callback();
      }),
  } as unknown as VirtualClock;
}

type Ref = Pick<ObjectMeta, "namespace" | "name">;

/** Observes a client. */
interface Observer {
  readonly mortal: <T>(promise: Promise<T>) => Promise<T>;
  readonly change: <T>(verb: string, type: ResourceType, body: T) => T;
  readonly distort: Distort;
  readonly isEndless: () => boolean;
  readonly onWrite: (verb: string, type: ResourceType, ref: Ref, body: unknown) => void;
}

/** Token of a list without an end. */
const again = "again";

/** The client with its writes reported, and its answers withheld from the dead. */
function observed(client: KubeClient, { mortal, change, distort, isEndless, onWrite }: Observer): KubeClient {
  const write = <T>(
    verb: string,
    type: ResourceType,
    ref: Ref,
    body: unknown,
    send: () => Promise<T>,
  ): Promise<T> => {
    onWrite(verb, type, ref, body);
    return mortal(send());
  };
  const list = async <T extends KubeObject>(
    type: ResourceType,
    options?: ListOptions,
  ): Promise<ListPage<T>> => {
    if (options?.continueToken === again || (options?.limit !== undefined && isEndless())) {
      const page = await mortal(client.list<T>(type, { ...options, continueToken: undefined }));
      return { ...page, items: [], continueToken: again };
    }
    const page = await mortal(client.list<T>(type, options));
    return { ...page, items: page.items.map((item) => distort(type, item)) };
  };
  return {
    clusterName: client.clusterName,
    list,
    get: async <T extends KubeObject>(type: ResourceType, ref: ObjectRef, options?: ReadOptions) =>
      distort(type, await mortal(client.get<T>(type, ref, options))),
    async find<T extends KubeObject>(type: ResourceType, ref: ObjectRef, options?: ReadOptions) {
      const found = await mortal(client.find<T>(type, ref, options));
      return found === undefined ? undefined : distort(type, found);
    },
    async *listAll<T extends KubeObject>(type: ResourceType, options?: ListOptions) {
      const objects = client.listAll<T>(type, options)[Symbol.asyncIterator]();
      for (;;) {
        const next: IteratorResult<T, unknown> = await mortal(Promise.resolve(objects.next()));
        if (next.done === true) return;
        yield next.value;
      }
    },
    async *watch<T extends KubeObject>(type: ResourceType, options?: WatchOptions) {
      const events = client.watch<T>(type, options)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next: IteratorResult<WatchEvent<T>, unknown> = await mortal(Promise.resolve(events.next()));
          if (next.done === true) return;
          const event = next.value;
          yield event.type === "BOOKMARK" ? event : { ...event, object: distort(type, event.object) };
        }
      } finally {
        await events.return?.();
      }
    },
    create: (type, object, options) =>
      write("create", type, object.metadata, object, () => client.create(type, object, options)),
    replace: (type, object, options) =>
      write("replace", type, object.metadata, object, () => client.replace(type, object, options)),
    apply: (type, object, options) =>
      write("apply", type, object.metadata, object, () =>
        client.apply(type, change("apply", type, object), options),
      ),
    mergePatch: (type, ref, patch, options) =>
      write("mergePatch", type, ref, patch, () => client.mergePatch(type, ref, patch, options)),
    jsonPatch: (type, ref, operations, options) =>
      write("jsonPatch", type, ref, operations, () =>
        client.jsonPatch(type, ref, change("jsonPatch", type, operations), options),
      ),
    delete: (type, ref, options) =>
      write("delete", type, ref, undefined, () => client.delete(type, ref, options)),
    request: (options) => mortal(client.request(options)),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
