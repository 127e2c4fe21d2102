/**
 * Binds APIs without a person (designs/0027): for each APIServiceBinding that names the Secret of this way, it gets credentials with a token of
 * this konnector's service account, asks the control plane for the API, and writes the Secret. The condition `Requested` says how far that is.
 */
import { consumerNamespace, kubeconfigKey, ownBindSecret, type PermissionClaim } from "@klutch/api";
import { type ClusterConfig, isAlreadyExists, type KubeClient } from "@klutch/kube";
import { type DynamicObject, falseCondition, isTrue, refOf, secrets, trueCondition } from "@klutch/kube-core";
import type { Controller, InformerHandle, ReconcileContext, ReconcileResult } from "@klutch/kube-runtime";
import type { OwnBind } from "../../config.ts";
import type { ConsumerCluster, RuntimeDependencies } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import { asBinding } from "../../decode.ts";
import type { Startable } from "../../lifecycle.ts";
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

export class OwnBindReconciler implements Startable {
  readonly #options: OwnBindOptions;
  readonly #controller: Controller;

  constructor(options: OwnBindOptions) {
    this.#options = options;
    this.#controller = createController(options.runtime, "own-binds", (key, run) =>
      this.#reconcile(key, run),
    );
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using _subscription = this.#controller.watch(this.#options.bindings.cache.informer);
    await this.#controller.start({ signal });
  }

  async #reconcile(key: string, { signal, logger }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { bindings, consumer, status } = this.#options;
    const object = bindings.cache.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
    const binding = asBinding(object);
    const { name, namespace } = binding.spec.kubeconfigSecretRef;
    if (name !== secretRef.name || namespace !== secretRef.namespace) return undefined;
    const isDone = isTrue(binding.status?.conditions, requested);
    if (isDone && (await consumer.client.find(secrets, secretRef, { signal })) !== undefined)
      return undefined;
    try {
      const waitsFor = await this.#bind(binding.metadata.name ?? "", acceptedOf(object), signal);
      if (waitsFor !== undefined) {
        status.report(key, falseCondition(requested, "Waiting", "Info", `Waiting for ${waitsFor}`));
        return { requeueAfterMs: waitingMs };
      }
      status.report(key, trueCondition(requested));
      logger.info("bound an API by the konnector's own token", { ...refOf(key) });
      return undefined;
    } catch (error) {
      if (!(error instanceof OwnBindError)) throw error;
      const severity = error.reason === "BackendUnreachable" ? "Warning" : "Error";
      status.report(key, falseCondition(requested, error.reason, severity, error.message));
      logger.warn("an API could not be bound by the konnector's own token", { ...refOf(key), error });
      return { requeueAfterMs: this.#options.runtime.timing.ownBindRetryMs };
    }
  }

  /** Returns the thing that has to happen first; undefined when the API is exported and the Secret is there. */
  async #bind(
    api: string,
    accepted: readonly PermissionClaim[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { ownBind, createProviderClient } = this.#options;
    const answer = await askBackend(ownBind, api, signal);
    await using client = createProviderClient(answer.config);
    const { isExported, waitsFor = "the control plane" } = await ensureExport(
      client,
      answer,
      accepted,
      signal,
    );
    if (!isExported) return waitsFor;
    await this.#keep(answer, signal);
    return undefined;
  }

  /** Writes the Secret unless there is one, whose credential is renewed as every other one. */
  async #keep({ kubeconfig }: BackendAnswer, signal: AbortSignal): Promise<void> {
    const { client } = this.#options.consumer;
    if ((await client.find(secrets, secretRef, { signal })) !== undefined) return;
    const secret: DynamicObject = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: secretRef,
      type: "Opaque",
      data: { [kubeconfigKey]: Buffer.from(kubeconfig).toString("base64") },
    };
    try {
      await client.create(secrets, secret, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

function acceptedOf(object: DynamicObject): readonly PermissionClaim[] {
  const claims = asBinding(object).spec.permissionClaims ?? [];
  return claims.flatMap(({ state, ...claim }) => (state === "Accepted" ? [claim] : []));
}
