/**
 * Announces to each app cluster the APIs that its people may bind and have not bound: names and words in the status of its ClusterBinding
 * (designs/0034-additions.md). An announcement gives no right, and no answer about rights takes one back only for a while.
 *
 * | step    | action                                                                        |
 * |---------|-------------------------------------------------------------------------------|
 * | observe | offers, the exports of the app cluster, the rights of the people in its Grants |
 * | plan    | `announcedFor`                                                                |
 * | execute | one write of the status; what another program changed, after `leastGapMs`      |
 */
import {
  announcedDescription,
  announcedPrice,
  type AnnouncedApi,
  type ClusterBinding,
  clusterBindingName,
  clusterBindings,
  crdNameOf,
  mostAnnounced,
} from "@klutch/api";
import { jsonEqual, keyOf, plainText, refOf } from "@klutch/kube-core";
import { Controller, type ControllerOptions, type Reconcile } from "@klutch/kube-runtime";
import { pricesText } from "@klutch/services/prices";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import type { OfferedApi } from "../offered-api.ts";

/** RBAC says nothing when it changes, so each app cluster is looked at again. */
const recheckMs = 600_000;
/** A konnector that drops the field, as one in Go does, must not make a write each heartbeat. */
const leastGapMs = 60_000;
/** Changes of templates and kinds come in numbers, and so do the exports of one bind: an app cluster hears of them together. */
const gatherMs = 2_000;

type Context = Pick<ControllerContext, "client" | "clock" | "exportTemplates" | "mayAdd"> & {
  readonly caches: Pick<ControllerContext["caches"], "bindings" | "exports" | "grants">;
};

/** The last write for an app cluster. */
interface Announced {
  readonly apis: readonly AnnouncedApi[];
  /** The status in the API server's answer; undefined before it came. */
  readonly kept: ClusterBinding["status"];
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** Creates the controller. Keys are those of ClusterBindings. */
export function createAnnouncementController(
  context: Context,
  options: Pick<ControllerOptions, "groups" | "logger" | "metrics" | "tracer" | "clock">,
): Controller {
  const { caches } = context;
  const { reconcile, forget } = createAnnouncementReconcile(context);
  const controller = new Controller({ name: "announcements", ...options, reconcile });
  const soon = (keys: readonly string[], reason: string): void => {
    for (const key of keys) controller.enqueue(key, { afterMs: gatherMs, reason });
  };
  controller.watch(caches.bindings, (change) => {
    if (change.type === "deleted") forget(change.key);
    if (change.type === "added") soon([change.key], "an app cluster came");
    if (change.type !== "updated") return [];
    const [before = [], now = []] = [change.previous.status?.newAPIs, change.object.status?.newAPIs];
    return jsonEqual(before, now) ? [] : [change.key];
  });
  const bindingIn = (namespace = ""): readonly string[] =>
    caches.bindings.byIndex(byNamespace, namespace).map((binding) => keyOf(binding));
  caches.exports.onChange(({ type, object }) => {
    if (type !== "updated") soon(bindingIn(object.metadata.namespace), "exports came or went");
  });
  controller.watch(caches.grants, ({ object }) => bindingIn(object.metadata.namespace));
  return controller;
}

/** Looks at all app clusters soon, because an offer may have come or gone. */
export function announceSoon(controller: Controller, caches: Context["caches"]): void {
  for (const binding of caches.bindings.list())
    controller.enqueue(keyOf(binding), { afterMs: gatherMs, reason: "an offer changed" });
}

/** Creates the reconcile. */
export function createAnnouncementReconcile(context: Context): {
  readonly reconcile: Reconcile;
  readonly forget: (key: string) => void;
} {
  const { client, caches, clock } = context;
  const written = new Map<string, Announced>();
  const reconcile: Reconcile = async (key, { signal }) => {
    const binding = caches.bindings.get(key);
    if (binding === undefined || binding.metadata.deletionTimestamp !== undefined) return undefined;
    if (binding.metadata.name !== clusterBindingName) return undefined;
    const wanted = await announcedFor(context, binding, signal);
    if (!jsonEqual(wanted, binding.status?.newAPIs ?? [])) {
      const before = written.get(key);
      const isSame = jsonEqual(before?.apis, wanted);
      // The kind is of an earlier release, and its schema drops a field.
      if (isSame && before?.kept !== undefined && jsonEqual(before.kept.newAPIs, binding.status?.newAPIs))
        return { requeueAfterMs: recheckMs };
      const waitMs = isSame ? (before?.at ?? 0) + leastGapMs - clock.monotonic() : 0;
      if (waitMs > 0) return { requeueAfterMs: waitMs };
      const newAPIs = wanted.length === 0 ? null : wanted;
      const at = clock.monotonic();
      written.set(key, { apis: wanted, kept: undefined, at });
      const answer = await client.mergePatch<ClusterBinding>(
        clusterBindings,
        refOf(key),
        { status: { newAPIs } },
        { subresource: "status", signal },
      );
      written.set(key, { apis: wanted, kept: answer.status ?? {}, at });
    }
    return { requeueAfterMs: recheckMs };
  };
  return { reconcile, forget: (key) => void written.delete(key) };
}

/** Returns the APIs in the order of their names. Rejects if the API server does not say who may bind them: the last ones stay. */
async function announcedFor(
  { caches, exportTemplates, mayAdd }: Context,
  binding: ClusterBinding,
  signal: AbortSignal,
): Promise<readonly AnnouncedApi[]> {
  const { namespace = "" } = binding.metadata;
  const bound = new Set(caches.exports.byIndex(byNamespace, namespace).map(({ metadata }) => metadata.name));
  const announced: AnnouncedApi[] = [];
  for (const offer of exportTemplates.list()) {
    if (announced.length === mostAnnounced) break;
    if (bound.has(crdNameOf(offer)) || !(await mayAdd(namespace, offer.template, signal))) continue;
    announced.push(wordsOf(offer));
  }
  return announced;
}

function wordsOf({
  group,
  resource,
  kind,
  description,
  prices = [],
  permissionClaims,
}: OfferedApi): AnnouncedApi {
  const words = announcedDescription(description);
  const price = prices.length === 0 ? "" : plainText(pricesText(prices, announcedPrice), announcedPrice);
  return {
    group,
    resource,
    kind,
    ...(words === undefined ? {} : { description: words }),
    ...(price === "" ? {} : { price }),
    ...(permissionClaims.length === 0 ? {} : { asksPermissions: true }),
  };
}
