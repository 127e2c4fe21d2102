/**
 * The status of APIServiceBindings. Many parts know something about a binding; they report it here, and this one writer puts it into
 * the object, so that parts of one process never conflict with each other. Much of it quotes the other side, so every text is cleaned and
 * bounded here.
 */
import { type AnnouncedApi, type ApiLimit, type APIServiceBinding, plainText } from "@klutch/api";
import {
  type DynamicObject,
  falseCondition,
  findCondition,
  isTrue,
  jsonEqual,
  type NewCondition,
  refOf,
  setConditions,
  wholeSeconds,
} from "@klutch/kube-core";
import type { Controller, ReadYourWritesCache, ReconcileResult } from "@klutch/kube-runtime";
import type { Sample } from "@klutch/telemetry";
import type { BindingCluster, RuntimeDependencies } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import { asBinding } from "../../decode.ts";
import type { Startable } from "../../lifecycle.ts";
import * as declarations from "../../metrics.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import { problemsOf } from "./problems.ts";

interface Facts {
  readonly conditions: Map<string, NewCondition>;
  /** Types that were taken back. */
  readonly retracted: Set<string>;
  prettyName: string | undefined;
  /** RFC 3339. */
  heartbeat: string | undefined;
  /** Null: there is none. Undefined: not known yet. */
  limit: ApiLimit | null | undefined;
  /** Undefined: not known yet. */
  newAPIs: readonly AnnouncedApi[] | undefined;
}

/** Knows the last report of each part and writes when they change. What an earlier process wrote stays until it is reported or retracted. */
export class BindingStatus implements Startable {
  readonly #cluster: BindingCluster;
  readonly #bindings: ReadYourWritesCache;
  readonly #runtime: RuntimeDependencies;
  readonly #facts = new Map<string, Facts>();
  readonly #controller: Controller;
  readonly #handlers = new Set<(key: string) => void>();
  /** Repairs of a status that another program changed, by binding. */
  readonly #repairs = new Map<string, Repairs>();
  /** False when the kind's CRD is of an earlier release and drops the time: writing it again and again would not help. */
  #keepsHeartbeats = true;
  /** Likewise of the limit. */
  #keepsLimits = true;
  /** Likewise of announced APIs. */
  #keepsNewApis = true;

  constructor(cluster: BindingCluster, bindings: ReadYourWritesCache, runtime: RuntimeDependencies) {
    this.#cluster = cluster;
    this.#bindings = bindings;
    this.#runtime = runtime;
    this.#controller = createController(runtime, "binding-status", (key, { signal }) =>
      this.#write(key, signal),
    );
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using _subscription = this.#controller.watch(this.#bindings.informer);
    using _shown = this.#runtime.metrics.registry.read(declarations.bindings, () =>
      countStates([...this.#bindings.informer.list()].map(asBinding)),
    );
    using _problems = this.#runtime.metrics.registry.read(declarations.bindingProblems, () =>
      problemsOf([...this.#bindings.informer.list()].map(asBinding)),
    );
    await this.#controller.start({ signal });
  }

  /** Reports a condition of the binding with this key (`namespace/name`). */
  report(key: string, reported: NewCondition): void {
    const condition = fit(reported);
    const { conditions, retracted } = this.#factsOf(key);
    if (jsonEqual(conditions.get(condition.type), condition)) return;
    conditions.set(condition.type, condition);
    retracted.delete(condition.type);
    this.#controller.enqueue(key, { reason: wakeReasons.conditionReported });
    for (const handler of this.#handlers) handler(key);
  }

  /** Takes a condition back, also one that an earlier process wrote. */
  retract(key: string, type: string): void {
    const { conditions, retracted } = this.#factsOf(key);
    conditions.delete(type);
    if (retracted.has(type)) return;
    retracted.add(type);
    this.#controller.enqueue(key, { reason: wakeReasons.conditionReported });
  }

  /** Reports that the provider took a heartbeat at this time; the binding shows one of the last minute. */
  reportHeartbeat(key: string, nowMs: number): void {
    const shown = this.#factsOf(key).heartbeat ?? asStatus(this.#bindings.get(key))?.lastHeartbeatTime;
    if (!this.#keepsHeartbeats || nowMs - Date.parse(shown ?? "") < heartbeatStepMs) return;
    this.#factsOf(key).heartbeat = wholeSeconds(nowMs);
    this.#controller.enqueue(key, { reason: wakeReasons.conditionReported });
  }

  /** Reports what the provider calls itself. */
  reportPrettyName(key: string, reported: string): void {
    const prettyName = plainText(reported, prettyNameLimit);
    const facts = this.#factsOf(key);
    if (facts.prettyName === prettyName) return;
    facts.prettyName = prettyName;
    this.#controller.enqueue(key, { reason: wakeReasons.conditionReported });
  }

  /** Reports how many objects of the API the app cluster may have and has; undefined: any number. */
  reportLimit(key: string, reported: ApiLimit | undefined): void {
    const limit = this.#keepsLimits ? (reported ?? null) : undefined;
    const facts = this.#factsOf(key);
    if (jsonEqual(facts.limit, limit)) return;
    facts.limit = limit;
    this.#controller.enqueue(key, { reason: wakeReasons.limitChanged });
  }

  /** Reports the APIs that the provider announces; none where another binding shows them. */
  reportNewApis(key: string, newAPIs: readonly AnnouncedApi[]): void {
    const facts = this.#factsOf(key);
    if (!this.#keepsNewApis || jsonEqual(facts.newAPIs, newAPIs)) return;
    facts.newAPIs = newAPIs;
    this.#controller.enqueue(key, { reason: wakeReasons.additionsAnnounced });
  }

  /** Returns the last report. */
  reported(key: string, type: string): NewCondition | undefined {
    return this.#facts.get(key)?.conditions.get(type);
  }

  /** Calls `handler` with the key of each binding about which something new was reported. */
  onReport(handler: (key: string) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  #factsOf(key: string): Facts {
    const facts = this.#facts.get(key) ?? {
      conditions: new Map(),
      retracted: new Set<string>(),
      prettyName: undefined,
      heartbeat: undefined,
      limit: undefined,
      newAPIs: undefined,
    };
    this.#facts.set(key, facts);
    return facts;
  }

  async #write(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const cached = this.#bindings.get(key);
    if (cached === undefined) {
      this.#facts.delete(key);
      this.#repairs.delete(key);
      return undefined;
    }
    const facts = this.#facts.get(key);
    if (facts === undefined) return undefined;
    const binding = asBinding(cached);
    const now = this.#runtime.clock.now();
    const conditions = setConditions(
      binding.status?.conditions?.filter(({ type }) => !facts.retracted.has(type)),
      [...pendingConditions(binding, facts), ...facts.conditions.values()],
      now,
    );
    const providerPrettyName = facts.prettyName ?? binding.status?.providerPrettyName;
    const lastHeartbeatTime = facts.heartbeat ?? binding.status?.lastHeartbeatTime;
    const limit = facts.limit === undefined ? binding.status?.limit : (facts.limit ?? undefined);
    const newAPIs = facts.newAPIs ?? binding.status?.newAPIs ?? [];
    const status = {
      conditions,
      ...(newAPIs.length === 0 ? {} : { newAPIs }),
      ...(limit === undefined ? {} : { limit }),
      ...(providerPrettyName === undefined ? {} : { providerPrettyName }),
      ...(lastHeartbeatTime === undefined || !this.#keepsHeartbeats ? {} : { lastHeartbeatTime }),
    };
    if (jsonEqual(status, binding.status)) return undefined;
    const wish = [
      binding.metadata.uid,
      [...facts.conditions.values()],
      providerPrettyName,
      lastHeartbeatTime,
      limit,
      newAPIs,
    ];
    const repairs = repairsOf(this.#repairs.get(key), wish, this.#runtime.clock.monotonic());
    if (repairs.waitMs > 0) return { requeueAfterMs: repairs.waitMs };
    const patch = {
      metadata: { resourceVersion: binding.metadata.resourceVersion },
      status: {
        ...status,
        ...changeOf(binding.status?.limit, limit),
        ...(newAPIs.length === 0 ? { newAPIs: null } : {}),
      },
    };
    const answer = await this.#cluster.client.mergePatch<DynamicObject>(
      this.#cluster.bindingType,
      refOf(key),
      patch,
      { subresource: "status", signal },
    );
    this.#bindings.wrote(answer);
    this.#repairs.set(key, repairs);
    if (asBinding(answer).status?.lastHeartbeatTime === undefined && lastHeartbeatTime !== undefined)
      this.#keepsHeartbeats = false;
    if (limit !== undefined && asBinding(answer).status?.limit === undefined) {
      this.#keepsLimits = false;
      facts.limit = undefined;
    }
    if (newAPIs.length > 0 && asBinding(answer).status?.newAPIs === undefined) {
      this.#keepsNewApis = false;
      facts.newAPIs = undefined;
    }
    return undefined;
  }
}

/** Writes that said the same as the one before. */
interface Repairs {
  readonly wish: unknown;
  /** Monotonic milliseconds of the first of them. */
  readonly since: number;
  readonly count: number;
  /** Wait before the next write, in milliseconds. */
  readonly waitMs: number;
}

/** Returns the limit for a merge patch, which keeps fields that it does not name. */
function changeOf(
  before: ApiLimit | undefined,
  limit: ApiLimit | undefined,
): { readonly limit?: object | null } {
  if (before === undefined) return {};
  if (limit === undefined) return { limit: null };
  return { limit: { contact: null, ...limit } };
}

/** Another konnector, which sees things otherwise, would change each status at once: some repairs are enough. */
const repairsAtOnce = 5;
const repairWindowMs = 60_000;

function repairsOf(last: Repairs | undefined, wish: unknown, now: number): Repairs {
  if (last === undefined || !jsonEqual(last.wish, wish)) return { wish, since: now, count: 0, waitMs: 0 };
  const untilMs = last.since + repairWindowMs - now;
  if (untilMs <= 0) return { wish, since: now, count: 1, waitMs: 0 };
  const count = last.count + 1;
  return { ...last, count, waitMs: count > repairsAtOnce ? untilMs : 0 };
}

/** Least time between two heartbeats that a binding shows: each is a write to it. */
const heartbeatStepMs = 55_000;

function asStatus(binding: DynamicObject | undefined): APIServiceBinding["status"] {
  return binding === undefined ? undefined : asBinding(binding).status;
}

/** Counts the bindings in each state, states without a binding included. */
function countStates(bindings: readonly APIServiceBinding[]): readonly Sample<"state">[] {
  const states = bindings.map(({ metadata, status }) => {
    if (metadata.deletionTimestamp !== undefined) return "unbinding";
    return isTrue(status?.conditions, "Ready") ? "ready" : "not_ready";
  });
  return ["ready", "not_ready", "unbinding"].map((state) => ({
    labels: { state },
    value: states.filter((one) => one === state).length,
  }));
}

/** A held schema names many fields of many claims; a condition of Kubernetes may have twice as much. */
const messageLimit = 16_384;
const reasonLimit = 1024;
const prettyNameLimit = 128;

/** The condition without characters that steer a terminal, and with bounded texts. */
function fit(condition: NewCondition): NewCondition {
  const { reason, message } = condition;
  return {
    ...condition,
    ...(reason === undefined ? {} : { reason: plainText(reason, reasonLimit) }),
    ...(message === undefined ? {} : { message: plainText(message, messageLimit) }),
  };
}

const expected = [
  "SecretValid",
  "InformersSynced",
  "Heartbeating",
  "Connected",
  "SchemaInSync",
  "PermissionClaimsValid",
];

/** Conditions that were not reported yet, neither now nor before a restart: without them, `Ready` would come too early. */
function pendingConditions(binding: APIServiceBinding, facts: Facts): readonly NewCondition[] {
  return expected
    .filter(
      (type) => !facts.conditions.has(type) && findCondition(binding.status?.conditions, type) === undefined,
    )
    .map((type) => falseCondition(type, "Pending", "Info", "not checked yet"));
}
