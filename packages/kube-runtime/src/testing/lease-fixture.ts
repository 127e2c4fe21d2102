/** Processes that compete for a lease of a model of the API server, in virtual time. */
import type { KubeClient } from "@klutch/kube";
import { type KubeObject, leases } from "@klutch/kube-core";
import { ApiServerModel, type Fault, type FaultSource, VirtualClock } from "@klutch/kube-testing";
import { LeaderElector } from "../leader-elector.ts";
import { type LogLine, recordingLogger } from "./recording-logger.ts";

/** Name and namespace of the lease. */
export const place = { namespace: "default", name: "agent" };

/** A process that competes for the lease; its connection can be made to fail. */
export class Process {
  readonly elector: LeaderElector;
  readonly lines: LogLine[] = [];
  /** Fault injected into each of its requests. Default none. */
  fault: Fault | undefined;
  /** Faults injected into its requests of these verbs. */
  readonly faultOf: Map<string, Fault> = new Map();
  /** Number of requests of each verb that it sent. */
  readonly sent: Map<string, number> = new Map();
  /** Fault injected into the events of its watches. */
  deliver: ReturnType<FaultSource["onWatchEvent"]> = "deliver";
  /** Delay of each request and of each answer. */
  latencyMs = 1;
  readonly #stop = new AbortController();
  readonly #run: Promise<void>;
  readonly #clock: VirtualClock;

  constructor(fixture: Fixture, identity: string, faults?: FaultSource) {
    this.#clock = fixture.clock;
    const source: FaultSource = faults ?? {
      onRequest: ({ verb }) => {
        this.sent.set(verb, (this.sent.get(verb) ?? 0) + 1);
        return this.fault ?? this.faultOf.get(verb);
      },
      onWatchEvent: () => this.deliver,
      latencyMs: () => this.latencyMs,
    };
    this.elector = new LeaderElector({
      ...place,
      client: fixture.server.client({ clusterName: identity, faults: source }),
      identity,
      clock: fixture.clock,
      logger: recordingLogger(this.lines),
    });
    this.#run = this.elector.run({ signal: this.#stop.signal });
  }

  /** Ends it as a signal does. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopping"));
    await this.#clock.resolve(this.#run);
  }

  /** Ends it as a crash does: the lease is not given back. */
  crash(): void {
    this.fault = { kind: "lost-request" };
    this.#stop.abort(new Error("crashed"));
  }
}

/** A model of one API server in virtual time, and its administrator. */
export class Fixture {
  readonly clock: VirtualClock = new VirtualClock();
  readonly server: ApiServerModel = new ApiServerModel({ clock: this.clock, uidSeed: 1 });
  readonly admin: KubeClient;

  constructor() {
    this.admin = this.server.client({ clusterName: "admin" });
  }

  /** The lease's spec. */
  async lease(): Promise<Readonly<Record<string, unknown>> | undefined> {
    return (
      await this.admin.find<KubeObject & { readonly spec: Readonly<Record<string, unknown>> }>(leases, place)
    )?.spec;
  }

  async edit(patch: object): Promise<void> {
    await this.admin.mergePatch(leases, place, patch);
  }
}
