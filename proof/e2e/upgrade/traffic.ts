/** A user who edits some claims without end, and a provider that answers each edit; both are written down. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  conditionsOf,
  type DynamicObject,
  isTrue,
  type KubeObject,
  numberAt,
  type ResourceType,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";

/** Counts and times of the edits since the traffic last settled. Times in milliseconds. */
export interface Seen {
  readonly edits: number;
  /** Tries of edits that the user's API server did not take; each was tried again until it did. */
  readonly failed: number;
  /** Longest time from an edit until the provider has it. */
  readonly slowestMs: number;
  /** Longest time that an edited claim was not ready. */
  readonly unreadyMs: number;
}

/** A claim's object on either side is `namespace/name`; the provider's is in another namespace. */
export interface TrafficOptions {
  readonly consumer: KubeClient;
  readonly provider: KubeClient;
  readonly type: ResourceType;
  readonly namespace: string;
  readonly serviceNamespace: string;
  /** Names of the claims that are edited, in turn. */
  readonly names: readonly string[];
  /** True if API servers may end meanwhile. Default: any failure ends the traffic. */
  readonly serversEnd?: boolean | undefined;
}

/** Edits until it is disposed. */
export interface Traffic extends AsyncDisposable {
  /** Waits until every edit has come through and is answered; no more are made until `go` is called. */
  settle(): Promise<Seen>;
  go(): void;
  /** Total number of edits of each claim. */
  readonly edits: ReadonlyMap<string, number>;
}

const betweenEditsMs = 60;
const betweenTriesMs = 250;

/** Answers every change of an upstream object's spec in its status, as a controller does. Runs until the signal aborts. */
export async function answerSpecs(
  {
    provider,
    type,
    serviceNamespace,
    serversEnd,
  }: Pick<TrafficOptions, "provider" | "type" | "serviceNamespace" | "serversEnd">,
  signal: AbortSignal,
  onSeen: (name: string, size: number) => void,
): Promise<void> {
  const answers = new Set<Promise<unknown>>();
  const answer = ({ metadata: { name = "" }, spec, status }: DynamicObject): void => {
    const size = numberAt(spec, "size") ?? 0;
    onSeen(name, size);
    if (numberAt(status, "size") === size) return;
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const patch = { status: { size, conditions } };
    const ref = { namespace: serviceNamespace, name };
    const send = (): Promise<unknown> => provider.mergePatch(type, ref, patch, { subresource: "status" });
    const sent = serversEnd === true ? untilTaken(send, signal, () => {}) : send();
    const answered = sent.finally(() => answers.delete(answered));
    answers.add(answered);
  };
  await follow({ client: provider, type, namespace: serviceNamespace, serversEnd }, signal, answer);
  await Promise.all(answers);
}

/** Tries until it succeeds or the signal aborts. */
async function untilTaken(
  send: () => Promise<unknown>,
  signal: AbortSignal,
  onFailure: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await send();
      return;
    } catch {
      onFailure();
      await sleep(betweenTriesMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

interface Followed {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly namespace: string;
  readonly serversEnd: boolean | undefined;
}

/** Every state of the objects, from now on, until the signal aborts. A server ends a watch whenever it likes. */
async function follow(
  { client, type, namespace, serversEnd }: Followed,
  signal: AbortSignal,
  seen: (object: DynamicObject) => void,
): Promise<void> {
  const options = { namespace, sendInitialEvents: true, idleTimeoutMs: 900_000, signal };
  while (!signal.aborted) {
    try {
      for await (const event of client.watch<DynamicObject>(type, options))
        if (event.type === "ADDED" || event.type === "MODIFIED") seen(event.object);
    } catch (error) {
      if (signal.aborted) return;
      if (serversEnd !== true) throw error;
      await sleep(betweenTriesMs);
    }
  }
}

/** Starts it, without an edit until `go` is called. Every claim must be ready. */
export function startTraffic(options: TrafficOptions): Traffic {
  const { consumer, type, namespace, names, serversEnd } = options;
  const stop = new AbortController();
  const edits = new Map<string, number>();
  const pending = new Map<string, { readonly size: number; readonly at: number }>();
  const unready = new Map<string, number>();
  const seen = { edits: 0, failed: 0, slowestMs: 0, unreadyMs: 0 };
  let goes = false;
  const note = (name: string, size: number): void => {
    const edit = pending.get(name);
    if (edit === undefined || size !== edit.size) return;
    pending.delete(name);
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - edit.at);
  };
  const edit = async (): Promise<void> => {
    for (let number = 1; !stop.signal.aborted; number++) {
      const name = names[number % names.length] ?? "";
      await sleep(betweenEditsMs, undefined, { signal: stop.signal });
      if (!goes || pending.has(name)) continue;
      const size = 1 + (edits.get(name) ?? 0) + 1;
      pending.set(name, { size, at: performance.now() });
      edits.set(name, size - 1);
      seen.edits++;
      const send = (): Promise<unknown> =>
        consumer.mergePatch<KubeObject>(type, { namespace, name }, { spec: { size } });
      await (serversEnd === true ? untilTaken(send, stop.signal, () => seen.failed++) : send());
    }
  };
  const noteReadiness = (claim: DynamicObject): void => {
    const { name = "" } = claim.metadata;
    const since = unready.get(name);
    if (!isReady(claim)) unready.set(name, since ?? performance.now());
    else if (since !== undefined) {
      seen.unreadyMs = Math.max(seen.unreadyMs, performance.now() - since);
      unready.delete(name);
    }
  };
  const all = [
    edit(),
    follow({ client: consumer, type, namespace, serversEnd }, stop.signal, noteReadiness),
    answerSpecs(options, stop.signal, note),
  ];
  const running = Promise.allSettled(all);
  let failure: unknown;
  for (const one of all)
    one.catch((error: unknown) => {
      if (!stop.signal.aborted) failure = error;
    });
  return {
    edits,
    go: () => void (goes = true),
    async settle() {
      goes = false;
      await waitFor("every edit to come through", () => {
        if (failure !== undefined) throw new Error("the traffic ended", { cause: failure });
        return pending.size === 0 && unready.size === 0;
      });
      await waitFor("every answer to come back", async () => {
        const { items } = await consumer.list<DynamicObject>(type, { namespace });
        return items.every((one) => numberAt(one.spec, "size") === numberAt(one.status, "size"));
      });
      const taken = { ...seen };
      Object.assign(seen, { edits: 0, failed: 0, slowestMs: 0, unreadyMs: 0 });
      return taken;
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await running;
    },
  };
}

function isReady(claim: DynamicObject): boolean {
  return isTrue(conditionsOf(claim), "Ready");
}
