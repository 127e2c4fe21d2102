/**
 * Notices that objects which a binding needs cannot be read, because a server refuses it, and reports on the binding which requests are refused, by
 * whom, and who can change it. What cannot be reached at all is reported elsewhere (reachability.ts).
 */
import { type APIServiceBinding, crdNameOf } from "@klutch/api";
import { ApiError, type Clock, TransportError } from "@klutch/kube";
import { alarmCondition, type DynamicObject, keyOf, type NewCondition } from "@klutch/kube-core";
import type { CacheFailure } from "@klutch/kube-runtime";
import { asBinding } from "../../decode.ts";
import type { ClusterCaches } from "../../digests.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";

/** Options of the watch. */
export interface StallOptions {
  readonly clock: Clock;
  readonly consumer: ClusterCaches;
  readonly provider: ClusterCaches;
  /** Returns the bindings that need the two pools. */
  readonly bindings: () => Iterable<DynamicObject>;
  readonly status: BindingStatus;
}

/** Resources as `<plural>.<group>`: the API itself and the claimed ones that its binding accepted. */
function needsOf({ metadata: { name }, spec }: APIServiceBinding): ReadonlySet<string | undefined> {
  const accepted = (spec.permissionClaims ?? []).filter(({ state }) => state === "Accepted");
  return new Set([name, ...accepted.map((claim) => crdNameOf(claim))]);
}

const checkEveryMs = 1_000;
/** One list of one object for each bound API: the number of claims does not matter. */
const rightsEveryMs = 20_000;
/** A right that is granted together with what it is for may come a little later. */
const toleratedMs = 3_000;
const textLimit = 400;

/** Checks until the signal aborts. */
export async function watchStalls(options: StallOptions, signal: AbortSignal): Promise<void> {
  await Promise.all([reportStalls(options, signal), checkRights(options, signal)]);
}

/** Checks the app cluster, where people take rights away; the backend puts back those at the provider. */
async function checkRights({ clock, consumer }: StallOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(checkEveryMs, { signal }).catch(() => undefined);
    if (!signal.aborted) await consumer.checkRights(rightsEveryMs, signal);
  }
}

async function reportStalls(options: StallOptions, signal: AbortSignal): Promise<void> {
  const { clock, bindings, status } = options;
  while (!signal.aborted) {
    await clock.sleep(checkEveryMs, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const failures = [
      ...failuresOf(options.consumer, "app cluster", clock),
      ...failuresOf(options.provider, "provider", clock),
    ];
    for (const binding of bindings()) {
      const key = keyOf(binding);
      const resources = needsOf(asBinding(binding));
      const found = failures.find(({ resource }) => resources.has(resource));
      if (found === undefined) status.retract(key, "Stalled");
      else status.report(key, found.condition);
    }
  }
}

type Side = "app cluster" | "provider";

function failuresOf(
  pool: ClusterCaches,
  side: Side,
  clock: Clock,
): readonly { readonly resource: string; readonly condition: NewCondition }[] {
  const before = clock.monotonic() - toleratedMs;
  return pool
    .failures()
    .filter(({ since }) => since <= before)
    .flatMap((failure) => {
      const condition = stallOf(failure, side);
      return condition === undefined ? [] : [{ resource: failure.resource, condition }];
    });
}

/** The condition that a failure leads to; undefined for one that may pass by itself. */
export function stallOf({ resource, namespace, error }: CacheFailure, side: Side): NewCondition | undefined {
  const where = `${side === "provider" ? "at the provider" : "in the app cluster"}${
    namespace === undefined ? "" : `, namespace ${namespace}`
  }`;
  if (error instanceof TransportError && unreadable.has(error.code)) {
    const message = `the agent cannot read the list of ${resource} ${where}, so nothing of it is synced: ${error.message.slice(0, textLimit)}. It is tried again`;
    return alarmCondition("Stalled", "ListTooLarge", "Error", message);
  }
  if (!(error instanceof ApiError)) return undefined;
  const reason = reasons.get(error.status);
  if (reason === undefined) return undefined;
  const verb = /cannot (list|watch) /.exec(error.message)?.[1] ?? "list";
  const what = `the agent may not ${verb} ${resource} ${where}, so nothing of it is synced`;
  const message = `${what}: ${error.message.slice(0, textLimit)}. ${advice[side][reason]}`;
  return alarmCondition("Stalled", reason, "Error", message);
}

/** A list without an end, or with a page that is too large even with one object. */
const unreadable: ReadonlySet<string> = new Set(["Endless", "TooLarge"]);

type Reason = "Unauthorized" | "Forbidden" | "NotServed";

const reasons: ReadonlyMap<number, Reason> = new Map([
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotServed"],
  [405, "NotServed"],
]);

const advice: Readonly<Record<Side, Readonly<Record<Reason, string>>>> = {
  "app cluster": {
    Unauthorized: "Restart the agent, so that it gets a new token",
    Forbidden: "Run kubectl bind for this API again, or give the agent's account list and watch on it",
    NotServed: "Create its CustomResourceDefinition, or withdraw the permission claim",
  },
  provider: {
    Unauthorized: "Run kubectl bind for this API again, to get new credentials",
    Forbidden: "Ask the provider to give the account of this app cluster list and watch on it",
    NotServed: "Ask the provider to serve it, or unbind it",
  },
};
