/** A user who edits some claims without end, and a provider that answers each edit; both are written down. */
import { setTimeout as sleep } from "node:timers/promises";
import { serviceNamespaceName } from "@klutch/api";
import { conditionsOf, type DynamicObject, isTrue, type KubeObject, numberAt } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { followObjects, waitFor } from "@klutch/kube-testing";
import { type BindingFixture, databases, tenants } from "../security/bound-fixture.ts";

/** Namespaces of the claims and of their upstream objects. */
export const namespace = "team";
export const serviceNamespace: string = serviceNamespaceName(tenants.a, namespace);

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
  provider: KubeClient,
  signal: AbortSignal,
  serversEnd: boolean,
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
    const sent = untilTaken(signal, serversEnd, () =>
      provider.mergePatch(databases, ref, patch, { subresource: "status" }),
    );
    const answered = sent.finally(() => answers.delete(answered));
    answers.add(answered);
  };
  await follow(provider, serviceNamespace, signal, serversEnd, answer);
  await Promise.all(answers);
}

/** Tries until it succeeds or the signal aborts; only once when servers do not end. Returns the number of failed tries. */
async function untilTaken(
  signal: AbortSignal,
  serversEnd: boolean,
  send: () => Promise<unknown>,
): Promise<number> {
  for (let failed = 0; ; failed++) {
    try {
      await send();
      return failed;
    } catch (error) {
      if (!serversEnd) throw error;
      await sleep(betweenTriesMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return failed;
    }
  }
}

/** Every state of the objects, from now on, until the signal aborts. A server ends a watch whenever it likes. */
function follow(
  client: KubeClient,
  where: string,
  signal: AbortSignal,
  serversEnd: boolean,
  seen: (object: DynamicObject) => void,
): Promise<void> {
  return followObjects(client, databases, {
    namespace: where,
    idleTimeoutMs: 900_000,
    signal,
    onChange(kind, object) {
      if (kind !== "DELETED") seen(object);
    },
    onFailure(error) {
      if (!serversEnd) throw error;
    },
  });
}

/**
 * Starts it, without an edit until `go` is called. Every claim must be ready. `names`: of the claims that are edited, in turn. `serversEnd`
 * is true if API servers may end meanwhile; by default any failure ends the traffic.
 */
export function editClaims(
  { appCluster, controlPlane }: BindingFixture,
  { names, serversEnd = false }: { readonly names: readonly string[]; readonly serversEnd?: boolean },
): Traffic {
  const { client: consumer } = appCluster;
  const stop = new AbortController();
  const { signal } = stop;
  const edits = new Map<string, number>();
  const pending = new Map<string, { readonly size: number; readonly at: number }>();
  const unready = new Map<string, number>();
  const nothing = { edits: 0, failed: 0, slowestMs: 0, unreadyMs: 0 };
  const seen = { ...nothing };
  let goes = false;
  const note = (name: string, size: number): void => {
    const edit = pending.get(name);
    if (edit === undefined || size !== edit.size) return;
    pending.delete(name);
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - edit.at);
  };
  const edit = async (): Promise<void> => {
    for (let number = 1; !signal.aborted; number++) {
      const name = names[number % names.length] ?? "";
      await sleep(betweenEditsMs, undefined, { signal });
      if (!goes || pending.has(name)) continue;
      const size = 1 + (edits.get(name) ?? 0) + 1;
      pending.set(name, { size, at: performance.now() });
      edits.set(name, size - 1);
      seen.edits++;
      seen.failed += await untilTaken(signal, serversEnd, () =>
        consumer.mergePatch<KubeObject>(databases, { namespace, name }, { spec: { size } }),
      );
    }
  };
  const noteReadiness = (claim: DynamicObject): void => {
    const { name = "" } = claim.metadata;
    const since = unready.get(name);
    if (!isTrue(conditionsOf(claim), "Ready")) unready.set(name, since ?? performance.now());
    else if (since !== undefined) {
      seen.unreadyMs = Math.max(seen.unreadyMs, performance.now() - since);
      unready.delete(name);
    }
  };
  const all = [
    edit(),
    follow(consumer, namespace, signal, serversEnd, noteReadiness),
    answerSpecs(controlPlane.client, signal, serversEnd, note),
  ];
  const running = Promise.allSettled(all);
  let failure: unknown;
  for (const one of all)
    one.catch((error: unknown) => {
      if (!signal.aborted) failure = error;
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
        const { items } = await consumer.list<DynamicObject>(databases, { namespace });
        return items.every((one) => numberAt(one.spec, "size") === numberAt(one.status, "size"));
      });
      const taken = { ...seen };
      Object.assign(seen, nothing);
      return taken;
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await running;
    },
  };
}
