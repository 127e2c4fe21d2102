/**
 * Writes on claims why Crossplane cannot compose them. Crossplane says that on the composite only, which no app cluster may read; of the
 * claim it says `Waiting`, and `Synced` True. Konnectors bring the condition over as part of `Ready` and `Synced`.
 *
 * Watches the composites and claims of bound kinds and keeps some texts of each. A claim gets a write only when its cause comes, changes or
 * goes.
 */
import { composedCondition, serviceNamespaceAnnotation, type StatefulObject } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  keyOf,
  jsonEqual,
  refOf,
  recordsAt,
  textAt,
  wholeSeconds,
} from "@klutch/kube-core";
import { Controller, Informer, type ReconcileResult, type Runnable } from "@klutch/kube-runtime";
import type { Logger, Metrics, Tracer } from "@klutch/telemetry";
import type { ControllerContext } from "../controller-context.ts";
import { type Composite, causeOf, compositeOf } from "./cause.ts";
import { type ClaimKind, claimKinds } from "./kinds.ts";

/** Options of the part. */
export interface ClaimCausesOptions {
  readonly context: Pick<ControllerContext, "caches" | "client" | "clock">;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Default: no traces. */
  readonly tracer?: Tracer | undefined;
}

interface Claim {
  readonly metadata: Pick<
    DynamicObject["metadata"],
    "namespace" | "name" | "uid" | "resourceVersion" | "deletionTimestamp"
  >;
  /** The cause that it shows. */
  readonly told: string | undefined;
  readonly plan: string;
  readonly conditions: StatefulObject["conditions"];
}

/** A claim as far as its state depends on it. */
export interface ClaimState extends StatefulObject {
  readonly namespace: string;
  /** Plural of its kind. */
  readonly resource: string;
  readonly plan: string;
}

interface Watched {
  readonly kind: ClaimKind;
  readonly claims: Informer<Claim>;
  readonly composites: Informer<Composite>;
}

/** The key of the kinds themselves; a claim's is `<CRD>/<namespace>/<name>`. */
const kindsKey = "kinds";
const byClaim = "claim";

/** Runs while this backend has the lease. */
export class ClaimCauses implements Runnable {
  readonly name = "claim-causes";
  readonly onFailure = "restart";
  readonly #options: ClaimCausesOptions;
  readonly #controller: Controller;
  /** By name of the claims' CRD. */
  readonly #watched = new Map<string, Watched>();

  constructor(options: ClaimCausesOptions) {
    this.#options = options;
    const { logger, metrics, tracer, context } = options;
    this.#controller = new Controller({
      name: this.name,
      reconcile: (key, { signal }) => this.#reconcile(key, signal),
      logger,
      metrics,
      tracer,
      clock: context.clock,
    });
  }

  /** Gives the claims of bound kinds, as the caches have them now. */
  *states(): Iterable<ClaimState> {
    for (const { kind, claims } of this.#watched.values()) {
      for (const { metadata, plan, conditions } of claims.list())
        yield {
          metadata,
          plan,
          conditions,
          namespace: metadata.namespace ?? "",
          resource: kind.claim.plural,
        };
    }
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { crds, exports } = this.#options.context.caches;
    using _one = this.#controller.watch(crds, () => [kindsKey]);
    using _two = this.#controller.watch(exports, () => [kindsKey]);
    this.#controller.enqueue(kindsKey);
    try {
      await this.#controller.start({ signal });
    } finally {
      await Promise.all([...this.#watched.keys()].map((name) => this.#end(name)));
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    if (key === kindsKey) {
      await this.#adjust(signal);
      return undefined;
    }
    const slash = key.indexOf("/");
    const watched = this.#watched.get(key.slice(0, slash));
    return watched === undefined ? undefined : this.#tell(watched, key.slice(slash + 1), signal);
  }

  async #adjust(signal: AbortSignal): Promise<void> {
    const { crds, exports } = this.#options.context.caches;
    const wanted = claimKinds(exports.list(), [...crds.list()]);
    for (const [name, { kind }] of this.#watched)
      if (!jsonEqual(wanted.get(name), kind)) await this.#end(name);
    for (const [name, kind] of wanted) if (!this.#watched.has(name)) this.#begin(name, kind, signal);
  }

  #begin(name: string, kind: ClaimKind, signal: AbortSignal): void {
    const { logger, context } = this.#options;
    const common = { client: context.client, clock: context.clock, logger };
    const claims = new Informer<Claim>({ ...common, type: kind.claim, transform: claimOf });
    const composites = new Informer<Composite>({
      ...common,
      type: kind.composite,
      transform: compositeOf,
      indexes: { [byClaim]: ({ claim }) => (claim === undefined ? [] : [claim]) },
    });
    this.#watched.set(name, { kind, claims, composites });
    this.#controller.watch(claims, ({ key }) => [`${name}/${key}`]);
    this.#controller.watch(composites, ({ object: { claim } }) =>
      claim === undefined ? [] : [`${name}/${claim}`],
    );
    for (const informer of [claims, composites]) informer.start({ signal });
  }

  async #end(name: string): Promise<void> {
    const watched = this.#watched.get(name);
    this.#watched.delete(name);
    await watched?.claims[Symbol.asyncDispose]();
    await watched?.composites[Symbol.asyncDispose]();
  }

  async #tell(
    { kind, claims, composites }: Watched,
    key: string,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const { client, caches, clock } = this.#options.context;
    const claim = claims.get(key);
    if (claim === undefined || !composites.synced) return undefined;
    const namespace = caches.namespaces.get(claim.metadata.namespace ?? "");
    if (namespace?.metadata.annotations?.[serviceNamespaceAnnotation] === undefined) return undefined;
    const [composite] = composites.byIndex(byClaim, key);
    const { message, againInMs } =
      composite === undefined ? { message: undefined } : causeOf(composite, clock.now());
    if (message !== claim.told) await writeCause(client, kind, claim, message, clock.now(), signal);
    return againInMs === undefined ? undefined : { requeueAfterMs: againInMs };
  }
}

function claimOf(object: DynamicObject): Claim {
  const { namespace, name, uid, resourceVersion, deletionTimestamp } = object.metadata;
  const all = conditionsOf(object);
  const told = findCondition(all, composedCondition)?.message;
  const conditions = all.flatMap(({ type, status, reason }) =>
    type === "Ready" || type === "Synced" ? [{ type, status, reason }] : [],
  );
  const plan = textAt(object, "spec", "plan") ?? "";
  return { metadata: { namespace, name, uid, resourceVersion, deletionTimestamp }, told, plan, conditions };
}

/** Crossplane writes conditions of the same list: only the version that was read is replaced. */
async function writeCause(
  client: KubeClient,
  { claim: type }: ClaimKind,
  { metadata }: Claim,
  message: string | undefined,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  const ref = refOf(keyOf({ metadata }));
  const present = await client.find<DynamicObject>(type, ref, { signal });
  if (present === undefined || present.metadata.uid !== metadata.uid) return;
  const others = recordsAt(present.status, "conditions").filter(
    ({ type: name }) => name !== composedCondition,
  );
  const lastTransitionTime = wholeSeconds(now);
  const cause = {
    type: composedCondition,
    status: "False",
    reason: "CannotCompose",
    message,
    lastTransitionTime,
  };
  const conditions = message === undefined ? others : [...others, cause];
  const { resourceVersion } = present.metadata;
  const patch = { metadata: { resourceVersion }, status: { conditions } };
  await client.mergePatch(type, ref, patch, { subresource: "status", signal });
}
