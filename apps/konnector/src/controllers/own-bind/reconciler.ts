/**
 * Binds APIs without a person (designs/0027): for each APIServiceBinding that names the Secret of this way, it gets credentials with a token of
 * this konnector's service account, asks the control plane for the API, and writes the Secret. The condition `Requested` says how far that is.
 */
import { consumerNamespace, kubeconfigKey, ownBindSecret, type PermissionClaim } from "@klutch/api";
import { type ClusterConfig, findOrCreate, type KubeClient } from "@klutch/kube";
import {
  type DynamicObject,
  falseCondition,
  isTrue,
  keyOf,
  keyOfRef,
  refOf,
  secrets,
  trueCondition,
} from "@klutch/kube-core";
import type { Controller, InformerHandle, ReconcileContext, ReconcileResult } from "@klutch/kube-runtime";
import type { OwnBind } from "../../config.ts";
import type { ConsumerCluster, RuntimeDependencies } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import { asBinding } from "../../decode.ts";
import { isFilled, type Part } from "../../lifecycle.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import { askBackend, type BackendAnswer, ensureExport, OwnBindError } from "./control-plane.ts";

/** Options of `OwnBindReconciler`. */
export interface OwnBindOptions {
  readonly ownBind: OwnBind;
  readonly consumer: ConsumerCluster;
  readonly bindings: InformerHandle;
  readonly status: BindingStatus;
  readonly createProviderClient: (config: ClusterConfig) => KubeClient;
  readonly runtime: RuntimeDependencies;
}

/** Condition of a binding that this way serves. */
const requested = "Requested";
/** Interval until the control plane has answered a request. */
const waitingMs = 2_000;
const secretRef = { namespace: consumerNamespace, name: ownBindSecret } as const;

export class OwnBindReconciler implements Part {
  readonly #options: OwnBindOptions;
  readonly #controller: Controller;
  readonly #secret: InformerHandle;
  /** Answers of the backend whose requests the control plane has not carried out yet: each further one would be another credential. */
  readonly #answers = new Map<string, BackendAnswer>();

  constructor(options: OwnBindOptions) {
    this.#options = options;
    const { consumer, runtime } = options;
    const { namespace, name } = secretRef;
    this.#secret = consumer.pool.acquire({
      type: secrets,
      namespace,
      fieldSelector: `metadata.name=${name}`,
    });
    this.#controller = createController(runtime, "own-binds", (key, run) => this.#reconcile(key, run));
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const bindings = this.#options.bindings.cache.informer;
    using _bindings = this.#controller.watch(bindings);
    using _secret = this.#controller.watch(this.#secret.cache.informer, () =>
      [...bindings.list()].map((binding) => keyOf(binding)),
    );
    if (await isFilled(this.#secret.cache.informer, signal)) await this.#controller.start({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#secret[Symbol.asyncDispose]();
  }

  async #reconcile(key: string, { signal, logger }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { bindings, status, runtime } = this.#options;
    const object = bindings.cache.get(key);
    if (object === undefined || !this.#isAsked(object)) {
      this.#answers.delete(key);
      return undefined;
    }
    try {
      const waitsFor = await this.#bind(key, object, signal);
      if (waitsFor !== undefined) {
        status.report(key, falseCondition(requested, "Waiting", "Info", `Waiting for ${waitsFor}`));
        return { requeueAfterMs: waitingMs };
      }
      this.#answers.delete(key);
      status.report(key, trueCondition(requested));
      logger.info("bound an API by the konnector's own token", { ...refOf(key) });
      return undefined;
    } catch (error) {
      this.#answers.delete(key);
      if (!(error instanceof OwnBindError)) throw error;
      const severity = error.reason === "BackendUnreachable" ? "Warning" : "Error";
      status.report(key, falseCondition(requested, error.reason, severity, error.message));
      logger.warn("an API could not be bound by the konnector's own token", { ...refOf(key), error });
      return { requeueAfterMs: runtime.timing.ownBindRetryMs };
    }
  }

  /** Returns true for a binding of this way that has no API yet, or no Secret any more. */
  #isAsked(object: DynamicObject): boolean {
    if (object.metadata.deletionTimestamp !== undefined) return false;
    const { spec, status } = asBinding(object);
    if (keyOfRef(spec.kubeconfigSecretRef) !== keyOfRef(secretRef)) return false;
    return (
      !isTrue(status?.conditions, requested) || this.#secret.cache.get(keyOfRef(secretRef)) === undefined
    );
  }

  /** Returns the thing that has to happen first; undefined when the API is exported and the Secret is there. */
  async #bind(key: string, object: DynamicObject, signal: AbortSignal): Promise<string | undefined> {
    const { ownBind, createProviderClient } = this.#options;
    const answer = this.#answers.get(key) ?? (await askBackend(ownBind, object.metadata.name ?? "", signal));
    this.#answers.set(key, answer);
    await using client = createProviderClient(answer.config);
    const { isExported, waitsFor = "the control plane" } = await ensureExport(
      client,
      answer,
      acceptedOf(object),
      signal,
    );
    if (!isExported) return waitsFor;
    await this.#keep(answer, signal);
    return undefined;
  }

  /** Writes the Secret unless there is one, whose credential is renewed as every other one. */
  async #keep({ kubeconfig }: BackendAnswer, signal: AbortSignal): Promise<void> {
    const make = (): DynamicObject => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: secretRef,
      type: "Opaque",
      data: { [kubeconfigKey]: Buffer.from(kubeconfig).toString("base64") },
    });
    const { client } = this.#options.consumer;
    this.#secret.cache.wrote(await findOrCreate(client, secrets, secretRef, make, { signal }));
  }
}

function acceptedOf(object: DynamicObject): readonly PermissionClaim[] {
  const claims = asBinding(object).spec.permissionClaims ?? [];
  return claims.flatMap(({ state, ...claim }) => (state === "Accepted" ? [claim] : []));
}
