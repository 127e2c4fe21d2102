/**
 * Binds the APIs of one provider. A key is the name of an API (`<plural>.<group>`), which its binding, its export and its CRD share.
 *
 * | step    | what                                                                                     |
 * |---------|------------------------------------------------------------------------------------------|
 * | observe | the binding, the export, the CRD of the app cluster                                      |
 * | decide  | `planBinding`: bind, release its objects, finish, or let go                              |
 * | execute | finalizer and pin, CRD, permission claims, objects                                       |
 * | status  | conditions of the binding where they arise (`BindingStatus`); last the export's status   |
 */
import type { ApiLimit, APIServiceExportSpec, ForeignExport } from "@klutch/api";
import {
  alarmCondition,
  conditionsOf,
  type DynamicObject,
  falseCondition,
  isOwnedBy,
  isTrue,
  keyOf,
} from "@klutch/kube-core";
import type {
  Controller,
  ReadYourWritesCache,
  ReconcileContext,
  ReconcileResult,
} from "@klutch/kube-runtime";
import { notOfferedWords, unbindPolicyOf } from "@klutch/sync";
import type { BindingCluster } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import { asBinding } from "../../decode.ts";
import type { Part } from "../../lifecycle.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import { ClaimedResources } from "../claimed-resource/claimed-resources.ts";
import { SecretCauses } from "../claimed-resource/secret-causes.ts";
import { TakenNames } from "../claimed-resource/taken-names.ts";
import { ClaimedTypes } from "../claimed-resource/claimed-type.ts";
import { writeExportStatus } from "../crd/export-status.ts";
import type { ForeignExports } from "../crd/foreign-exports.ts";
import { reconcileCrd } from "../crd/reconciler.ts";
import type { ProviderParts } from "../service-namespace/provider-parts.ts";
import { formatIdentity, pinProblem, type ProviderIdentity } from "../../provider-connection/identity.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import { isAbandoned } from "./abandon.ts";
import { ApiLimits } from "./api-limits.ts";
import { BoundCrds } from "./bound-crds.ts";
import { BoundObjects, type ExportedApi } from "./bound-objects.ts";
import { ClaimMarks } from "./claim-marks.ts";
import { addFinalizer, removeFinalizer } from "./finalizer.ts";
import { checkClaims } from "./permission-claims.ts";
import {
  type BindingPlan,
  cannotRelease,
  isRevoked,
  isWithdrawn,
  planBinding,
  revokedWords,
} from "./plan.ts";
import { watchStalls } from "./stalls.ts";

/** Options of the reconciler. */
export interface BindingReconcilerOptions extends ProviderParts {
  /** Pins the bindings of this provider. */
  readonly identity: ProviderIdentity;
  readonly bindingCluster: BindingCluster;
  /** The bindings to all providers. */
  readonly bindings: ReadYourWritesCache;
  readonly exports: ForeignExports;
  readonly status: BindingStatus;
}

type PlanOf<D extends BindingPlan["do"]> = Extract<BindingPlan, { readonly do: D }>;

/** Delay before an unbinding in progress is reconciled again. */
const releaseRetryMs = 500;

/** See the table above. One reconcile at a time, for all APIs of the provider. */
export class BindingReconciler implements Part {
  readonly #options: BindingReconcilerOptions;
  readonly #controller: Controller;
  /** Keys (`namespace/name`) of the bindings to this provider, by API name. */
  readonly #bindingKeys = new Map<string, string>();
  readonly #crds: BoundCrds;
  readonly #claimedTypes: ClaimedTypes;
  readonly #claimedResources: ClaimedResources;
  readonly #objects: BoundObjects;
  readonly #limits: ApiLimits;
  readonly #claimMarks: ClaimMarks;

  constructor(options: BindingReconcilerOptions) {
    const { consumer, runtime } = options;
    this.#options = options;
    this.#controller = createController(runtime, "bound-apis", (name, call) => this.#reconcile(name, call));
    this.#crds = new BoundCrds(consumer.pool, this.#controller, runtime.logger);
    this.#claimedTypes = new ClaimedTypes(consumer.client);
    const secrets = { takenSecrets: new TakenNames(), secretCauses: new SecretCauses() };
    this.#claimedResources = new ClaimedResources({ ...options, ...secrets });
    const limits = new ApiLimits({
      ...options,
      bindingKeyOf: (name) => this.#bindingKeys.get(name),
      count: (name) => this.#objects.upstreamCount(name),
      wake: (name, keys) => this.#objects.wake(name, keys),
    });
    this.#limits = limits;
    this.#objects = new BoundObjects({ ...options, ...secrets, limits });
    this.#claimMarks = new ClaimMarks(options.status, runtime);
  }

  /** The bindings to this provider, as keys `namespace/name`; a binding has the name of its API. */
  setBindings(keys: Iterable<string>): void {
    const next = new Map([...keys].toSorted().map((key) => [apiOf(key), key]));
    for (const name of new Set([...this.#bindingKeys.keys(), ...next.keys()])) {
      const key = next.get(name);
      if (key === undefined) this.#bindingKeys.delete(name);
      else this.#bindingKeys.set(name, key);
      this.#controller.enqueue(name, { reason: wakeReasons.bindingsChanged });
    }
    this.#limits.setBound([...next.keys()]);
  }

  /** Takes the limits that the provider sets for this app cluster, by API. */
  setLimits(limits: ReadonlyMap<string, ApiLimit>): void {
    this.#limits.set(limits);
  }

  /** The objects that are synced. */
  get objects(): Pick<BoundObjects, "pending" | "recordWarning"> {
    return this.#objects;
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { bindings, exports, status, consumer, provider, runtime } = this.#options;
    const nameOf = ({ object }: { readonly object: DynamicObject }): readonly string[] => [
      object.metadata.name ?? "",
    ];
    using _one = this.#controller.watch(exports.cache.informer, nameOf);
    using _two = this.#controller.watch(bindings.informer, nameOf);
    using _three = status.onReport((key) =>
      this.#controller.enqueue(apiOf(key), { reason: wakeReasons.conditionReported }),
    );
    const stalls = {
      clock: runtime.clock,
      consumer: consumer.pool,
      provider: provider.pool,
      bindings: () => this.#bindings(),
      status,
    };
    const parts = [this.#controller, this.#limits];
    await Promise.all([...parts.map((part) => part.start({ signal })), watchStalls(stalls, signal)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#objects[Symbol.asyncDispose]();
    await this.#claimedResources[Symbol.asyncDispose]();
    await this.#crds[Symbol.asyncDispose]();
  }

  async #reconcile(name: string, call: ReconcileContext): Promise<ReconcileResult | undefined> {
    if (this.#isOfAnother(name)) {
      await this.#crds.close(name);
      await this.#stop(name, call);
      return undefined;
    }
    const binding = this.#bindingOf(name);
    const exported = this.#options.exports.get(name);
    const crds = binding === undefined ? undefined : this.#crds.open(name);
    const isComplete = crds?.informer.synced === true && this.#options.exports.cache.informer.synced;
    const plan = planBinding({ binding, exported, crd: crds?.get(name), isComplete });
    switch (plan.do) {
      case "letGo":
        await this.#letGo(name, exported, call);
        return undefined;
      case "wait":
        return undefined;
      case "bind":
        return this.#bind(name, plan.binding, exported, call);
      case "release":
        return this.#release(name, plan, call);
      case "cannotRelease":
        await this.#stop(name, call);
        this.#options.status.report(keyOf(plan.binding), cannotRelease(plan.why));
        return undefined;
      case "finish":
        await this.#finish(name, plan.binding, call);
        return undefined;
      default:
        return plan satisfies never;
    }
  }

  async #letGo(name: string, exported: ForeignExport | undefined, call: ReconcileContext): Promise<void> {
    await this.#crds.close(name);
    await this.#stop(name, call);
    if (exported !== undefined) await this.#writeExportStatus(exported, undefined, undefined, call);
  }

  async #bind(
    name: string,
    binding: DynamicObject,
    exported: ForeignExport | undefined,
    call: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    const { consumer, bindingCluster, bindings, identity, status, runtime } = this.#options;
    await addFinalizer(bindingCluster, bindings, binding, formatIdentity(identity), call.signal);
    this.#reportOffer(name, keyOf(binding), exported);
    const crds = this.#crds.open(name);
    const outcome = await reconcileCrd({
      key: keyOf(binding),
      binding: asBinding(binding),
      exported,
      consumer,
      crds,
      status,
      bindingExists: (uid) => [...bindings.informer.list()].some(({ metadata }) => metadata.uid === uid),
      heldSchemaMs: runtime.timing.heldSchemaMs,
      signal: call.signal,
    });
    const found = crds.get(name);
    const crd = isOwnedBy(found, binding.metadata.uid) ? found : undefined;
    const requeueAfterMs = await this.#sync(
      name,
      binding,
      outcome.spec && exportedApi(outcome.spec, exported),
      crd,
      call,
    );
    if (exported !== undefined) await this.#writeExportStatus(exported, keyOf(binding), crd, call);
    const recordsInMs = await this.#objects.recordVersion(bindingCluster, binding, call.signal);
    return { requeueAfterMs: Math.min(requeueAfterMs ?? outcome.requeueAfterMs ?? recordsInMs, recordsInMs) };
  }

  /** The condition `Offered` is there, and False, only while the provider makes no new objects of the API, or revoked the access to it. */
  #reportOffer(name: string, key: string, exported: ForeignExport | undefined): void {
    const { status } = this.#options;
    if (isRevoked(exported))
      status.report(key, falseCondition("Offered", "Revoked", "Error", revokedWords(name)));
    else if (isWithdrawn(exported))
      status.report(key, falseCondition("Offered", "NotOffered", "Warning", notOfferedWords(name)));
    else status.retract(key, "Offered");
  }

  /** Syncs the objects as the export, the CRD and the answered permission claims allow; resolves to the time until they may allow more. */
  async #sync(
    name: string,
    binding: DynamicObject,
    api: ExportedApi | undefined,
    crd: DynamicObject | undefined,
    call: ReconcileContext,
  ): Promise<number | undefined> {
    if (api === undefined) {
      await this.#stop(name, call);
      return undefined;
    }
    const { spec } = api;
    const claims = await checkClaims(this.#claimedTypes, asBinding(binding).spec, spec, call.signal);
    this.#options.status.report(keyOf(binding), claims.condition);
    if (!claims.mayWork || crd === undefined || !isTrue(conditionsOf(crd), "Established")) {
      await this.#stop(name, call);
      return claims.requeueAfterMs;
    }
    const { isSynced, requeueAfterMs } = await this.#objects.start(binding, crd, api, undefined, call);
    if (!isSynced) {
      await this.#stop(name, call);
      return requeueAfterMs ?? claims.requeueAfterMs;
    }
    await this.#claimedResources.accept(name, claims.honoured, spec.informerScope === "Cluster");
    const marksInMs = this.#claimMarks.synced(name, binding, crd);
    return requeueAfterMs ?? claims.requeueAfterMs ?? marksInMs;
  }

  async #release(
    name: string,
    { binding, crd, spec, policy }: PlanOf<"release">,
    call: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    await this.#objects.start(binding, crd, exportedApi(spec, this.#options.exports.get(name)), policy, call);
    const remaining = this.#objects.remaining(name);
    const settlesInMs = this.#claimMarks.settlesInMs(name, binding);
    if (remaining === 0 && settlesInMs > 0) return { requeueAfterMs: settlesInMs };
    if (remaining === 0) {
      await this.#finish(name, binding, call);
      return undefined;
    }
    const message =
      remaining === undefined ? "counting the objects that are left" : `${remaining} objects are left`;
    this.#options.status.report(keyOf(binding), alarmCondition("Unbinding", policy, "Info", message));
    return { requeueAfterMs: releaseRetryMs };
  }

  /** Nothing of the API is left in this cluster but what people keep. */
  async #finish(name: string, binding: DynamicObject, call: ReconcileContext): Promise<void> {
    const { bindingCluster, bindings } = this.#options;
    await this.#stop(name, call);
    await removeFinalizer(bindingCluster, bindings.get(keyOf(binding)) ?? binding, call.signal);
    call.logger.info("unbound", { resource: name, policy: unbindPolicyOf(binding) });
  }

  async #stop(name: string, { logger }: ReconcileContext): Promise<void> {
    this.#claimMarks.stopped(name, this.#bindingOf(name));
    await this.#objects.stop(name, logger);
    await this.#claimedResources.withdraw(name);
  }

  /** `key` of the binding; undefined when the export is not bound. */
  async #writeExportStatus(
    exported: ForeignExport,
    key: string | undefined,
    crd: DynamicObject | undefined,
    call: ReconcileContext,
  ): Promise<void> {
    const { provider, exports, runtime, status } = this.#options;
    const { clock } = runtime;
    const { logger, signal } = call;
    const schemaInSync = key === undefined ? undefined : status.reported(key, "SchemaInSync");
    const observed = { exported, isBound: key !== undefined, schemaInSync, crd };
    await writeExportStatus(observed, provider.client, exports.cache, { clock, logger }, signal);
  }

  /** The binding of the API to this provider; one that is abandoned is let go of without the provider. */
  #bindingOf(name: string): DynamicObject | undefined {
    const key = this.#bindingKeys.get(name);
    const binding = key === undefined ? undefined : this.#options.bindings.get(key);
    return binding === undefined || isAbandoned(binding) ? undefined : binding;
  }

  /** Returns true, and tells the binding, if it was made with another provider: one may come at any time, such as out of a backup. */
  #isOfAnother(name: string): boolean {
    const binding = this.#bindingOf(name);
    const problem = binding && pinProblem(binding, this.#options.identity);
    if (binding === undefined || problem === undefined) return false;
    const condition = falseCondition("Connected", "WrongProvider", "Error", problem.message);
    this.#options.status.report(keyOf(binding), condition);
    return true;
  }

  *#bindings(): IterableIterator<DynamicObject> {
    for (const key of this.#bindingKeys.values()) {
      const binding = this.#options.bindings.get(key);
      if (binding !== undefined) yield binding;
    }
  }
}

/** A binding has the name of its API. */
const apiOf = (bindingKey: string): string => bindingKey.slice(bindingKey.indexOf("/") + 1);

function exportedApi(spec: APIServiceExportSpec, exported: ForeignExport | undefined): ExportedApi {
  return {
    spec,
    said: {
      isIgnored: exported?.ignoresGenerations === true,
      secretNameField: exported?.secretNameField,
      readyCondition: exported?.readyCondition,
    },
    isWithdrawn: isWithdrawn(exported),
  };
}
