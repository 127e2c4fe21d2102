/**
 * Releases the namespace mappings (APIServiceNamespaces) of app cluster namespaces that are gone, and only of those. A key is the
 * namespace's name in the app cluster. The provider deletes everything in a service namespace whose mapping goes, so a mapping is
 * deleted only after two live 404s of the consumer's namespace, the grace time apart, and when nothing of a bound API is left in it.
 */
import { apiServiceNamespaces } from "@klutch/api";
import { type DynamicObject, namespaces } from "@klutch/kube-core";
import {
  type Controller,
  findSurely,
  type ReadYourWritesCache,
  type ReconcileContext,
  type ReconcileResult,
} from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { mappingOf, planMappingRelease } from "@klutch/sync";
import { confirmCluster } from "../../cluster-uid.ts";
import { createController } from "../../controller.ts";
import type { Startable } from "../../lifecycle.ts";
import type { ProviderParts } from "./provider-parts.ts";

/** Options of the reconciler. */
export interface ServiceNamespaceOptions extends ProviderParts {
  /** The APIServiceNamespaces of this tenant. */
  readonly mappings: ReadYourWritesCache;
  readonly consumerNamespaces: ReadYourWritesCache;
}

/** Mappings are asked for where a claim needs one (object/execute.ts), never here. */
export class ServiceNamespaceReconciler implements Startable {
  readonly #options: ServiceNamespaceOptions;
  readonly #controller: Controller;
  /** Monotonic time of the first live 404 of a namespace that is absent. */
  readonly #missingSince = new Map<string, number>();

  constructor(options: ServiceNamespaceOptions) {
    this.#options = options;
    this.#controller = createController(options.runtime, "mappings", (name, call) =>
      this.#reconcile(name, call),
    );
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { consumerNamespaces, mappings } = this.#options;
    using _one = this.#controller.watch(consumerNamespaces.informer);
    using _two = this.#controller.watch(mappings.informer, ({ object }) => [object.metadata.name ?? ""]);
    await this.#controller.start({ signal });
  }

  async #reconcile(name: string, call: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { consumerNamespaces, runtime } = this.#options;
    const { graceMs } = runtime.timing;
    const mapping = this.#mapping(name);
    const since = this.#missingSince.get(name);
    const plan =
      mapping === undefined
        ? "keep"
        : planMappingRelease({
            cachedNamespaceExists: consumerNamespaces.get(name) !== undefined,
            missingSince: since,
            now: runtime.clock.monotonic(),
            graceMs,
          });
    if (mapping === undefined || plan === "keep") {
      this.#missingSince.delete(name);
      return undefined;
    }
    if (plan !== "checkLive") return { requeueAfterMs: plan.waitMs };
    if (await this.#exists(name, call.signal)) {
      this.#missingSince.delete(name);
      return { requeueAfterMs: graceMs };
    }
    if (since === undefined) {
      this.#missingSince.set(name, runtime.clock.monotonic());
      return { requeueAfterMs: graceMs };
    }
    if (this.#holdsSomething(name, mapping, call.logger)) return { requeueAfterMs: graceMs };
    await this.#release(name, mapping, call);
    return undefined;
  }

  /** Undefined when there is none, or none that stays. */
  #mapping(name: string): DynamicObject | undefined {
    const { provider, mappings } = this.#options;
    const mapping = mappings.get(`${provider.tenant.namespace}/${name}`);
    return mapping?.metadata.deletionTimestamp === undefined ? mapping : undefined;
  }

  /** Asks the app cluster itself. Throws when it is another one than it was. */
  async #exists(name: string, signal: AbortSignal): Promise<boolean> {
    const { client, uid } = this.#options.consumer;
    await confirmCluster(client, uid, signal);
    return (await findSurely(client, namespaces, { name }, signal)) !== undefined;
  }

  /** Returns true while the service namespace holds objects, which would be deleted with the mapping. They are released as orphans first, under the breaker. */
  #holdsSomething(name: string, mapping: DynamicObject, logger: Logger): boolean {
    const { provider, namespaces: map } = this.#options;
    const isUnseen = map.mapping(name).state === "ready" && map.providerNamespaceOf(name) === undefined;
    if (isUnseen) return true;
    const mapped = mappingOf(mapping);
    const objects = mapped.state === "ready" ? provider.pool.countDigested(mapped.providerNamespace) : 0;
    if (objects === 0) return false;
    logger.debug("the namespace is gone, but not what it had on the provider", {
      namespace: name,
      objects,
    });
    return true;
  }

  async #release(name: string, mapping: DynamicObject, { signal, logger }: ReconcileContext): Promise<void> {
    const { provider } = this.#options;
    this.#missingSince.delete(name);
    logger.info("the namespace is gone, releasing its mapping", { namespace: name });
    const ref = { namespace: provider.tenant.namespace, name };
    const { uid } = mapping.metadata;
    await provider.client.delete(apiServiceNamespaces, ref, { preconditions: { uid }, signal });
  }
}
