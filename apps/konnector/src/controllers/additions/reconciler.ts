/**
 * Shows the APIs that a provider announces in the app cluster, and binds those of groups that the app cluster's operator named once
 * (designs/0034-additions.md). There is one key.
 *
 * | step    | action                                                                              |
 * |---------|-------------------------------------------------------------------------------------|
 * | observe | the announcement, the bindings                                                       |
 * | plan    | `planAdditions`                                                                      |
 * | execute | `status.newAPIs` of the first binding, an event, and an APIServiceBinding for each API |
 */
import {
  type AnnouncedApi,
  autoBoundAnnotation,
  consumerNamespace,
  kubeconfigKey,
  ownBindSecret,
} from "@klutch/api";
import { isAlreadyExists, isForbidden } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import type {
  Controller,
  EventRecorder,
  ReadYourWritesCache,
  ReconcileContext,
  ReconcileResult,
} from "@klutch/kube-runtime";
import type { BindingCluster, RuntimeDependencies } from "../../clusters.ts";
import type { AutoBind } from "../../config.ts";
import { createController } from "../../controller.ts";
import { asBinding } from "../../decode.ts";
import type { Startable } from "../../lifecycle.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import { type AdditionsPlan, mostAutoBound, planAdditions } from "./plan.ts";

/** Options of the part. */
export interface AdditionsOptions {
  readonly bindingCluster: BindingCluster;
  /** The bindings to all providers. */
  readonly bindings: ReadYourWritesCache;
  readonly status: Pick<BindingStatus, "reportNewApis">;
  /** Undefined in control-plane mode, where bindings and events are in different clusters. */
  readonly events: EventRecorder | undefined;
  /** Undefined where people bind everything, and for a provider other than that of the konnector's own token. */
  readonly autoBind?: AutoBind | undefined;
  readonly runtime: RuntimeDependencies;
}

const theKey = "additions";
/** Names in one event. */
const mostNames = 5;

/** See the table above. Nothing is shown, bound or taken back before the first announcement is known. */
export class Additions implements Startable {
  readonly #options: AdditionsOptions;
  readonly #controller: Controller;
  /** Keys of the bindings to this provider, in the order of their names. */
  #keys: readonly string[] = [];
  #announced: readonly AnnouncedApi[] | undefined;
  /** The last announcement that was carried out, so that an event comes once. */
  #shown: readonly AnnouncedApi[] | undefined;
  #said: string | undefined;

  constructor(options: AdditionsOptions) {
    this.#options = options;
    this.#controller = createController(options.runtime, "additions", (_key, call) => this.#reconcile(call));
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using _bindings = this.#controller.watch(this.#options.bindings.informer, ({ type }) =>
      type === "updated" ? [] : [theKey],
    );
    await this.#controller.start({ signal });
  }

  /** Takes the provider's announcement. */
  set(announced: readonly AnnouncedApi[]): void {
    this.#announced = announced;
    this.#controller.enqueue(theKey, { reason: wakeReasons.additionsAnnounced });
  }

  /** Takes the bindings to this provider, as keys. */
  setBindings(keys: readonly string[]): void {
    this.#keys = keys.toSorted();
    this.#controller.enqueue(theKey, { reason: wakeReasons.bindingsChanged });
  }

  async #reconcile(call: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { bindings, status, autoBind } = this.#options;
    const [first, ...others] = this.#keys;
    if (this.#announced === undefined || first === undefined) return undefined;
    const all = [...bindings.informer.list()];
    const plan = planAdditions({
      announced: this.#announced,
      bound: new Set(all.map(({ metadata }) => metadata.name ?? "")),
      shown: this.#shown ?? this.#keys.flatMap((key) => this.#shownBy(key)),
      autoBind,
      autoBound: all.filter(({ metadata }) => metadata.annotations?.[autoBoundAnnotation] !== undefined)
        .length,
    });
    status.reportNewApis(first, plan.show);
    for (const key of others) status.reportNewApis(key, []);
    this.#tell(first, plan);
    this.#shown = plan.show;
    return this.#bindAll(first, plan, call);
  }

  #shownBy(key: string): readonly AnnouncedApi[] {
    const binding = this.#options.bindings.get(key);
    return binding === undefined ? [] : (asBinding(binding).status?.newAPIs ?? []);
  }

  #tell(key: string, { tell }: AdditionsPlan): void {
    if (tell.length === 0) return;
    const words = `the provider offers ${shortened(tell)}, which this cluster may bind: klutch offers --new lists them, kubectl bind binds them`;
    const binding = this.#options.bindings.get(key);
    if (binding !== undefined) void this.#options.events?.record(binding, "Normal", "NewAPIs", words);
  }

  async #bindAll(
    key: string,
    { bind, held }: AdditionsPlan,
    { signal, logger }: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    let failed: string | undefined;
    for (const name of bind) {
      try {
        await this.#create(name, signal);
        logger.info("bound an API of a group that is bound by itself", { name });
      } catch (error) {
        if (isAlreadyExists(error)) continue;
        if (!isForbidden(error)) throw error;
        logger.warn("not allowed to bind an API by itself", { name, error });
        failed = `the konnector may not create the APIServiceBinding ${name}: give it the rights by the value autoBind of its chart`;
        break;
      }
    }
    const tooMany = `${shortened(held)} ${held.length === 1 ? "is" : "are"} not bound by the konnector, which binds at most ${mostAutoBound} APIs: bind what you need`;
    this.#warn(key, failed ?? (held.length > 0 ? tooMany : undefined));
    return failed === undefined ? undefined : { requeueAfterMs: this.#options.runtime.timing.ownBindRetryMs };
  }

  /** The rest is done as for a binding out of Git: the konnector's token gets the export. No permission claim is accepted. */
  async #create(name: string, signal: AbortSignal): Promise<void> {
    const { bindings } = this.#options;
    const { client, bindingType } = this.#options.bindingCluster;
    const namespace = consumerNamespace;
    const binding: DynamicObject = {
      apiVersion: `${bindingType.group}/${bindingType.version}`,
      kind: bindingType.kind,
      metadata: {
        name,
        ...(bindingType.namespaced ? { namespace } : {}),
        annotations: { [autoBoundAnnotation]: "true" },
      },
      spec: { kubeconfigSecretRef: { namespace, name: ownBindSecret, key: kubeconfigKey } },
    };
    bindings.wrote(await client.create(bindingType, binding, { signal }));
  }

  /** An event each time when the words change. */
  #warn(key: string, words: string | undefined): void {
    const binding = words === this.#said ? undefined : this.#options.bindings.get(key);
    this.#said = words;
    if (words !== undefined && binding !== undefined)
      void this.#options.events?.record(binding, "Warning", "AutoBindHeld", words);
  }
}

function shortened(names: readonly string[]): string {
  const more = names.length - mostNames;
  return `${names.slice(0, mostNames).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
