/**
 * Renews the heartbeat of this agent in the ClusterBinding on the provider, and brings fresh credentials over from there.
 *
 * | step    | what                                                                      |
 * |---------|---------------------------------------------------------------------------|
 * | observe | the ClusterBinding; the Secret that it names                               |
 * | execute | the credential, when it is a new one that works; then the heartbeat        |
 * | status  | `Heartbeating` of all bindings to this provider                            |
 */
import {
  type AnnouncedApi,
  type ApiLimit,
  clusterBindingName,
  clusterBindings,
  type ForeignClusterBinding,
  klutchVersion,
  type KonnectorUpdates,
  parseClusterBinding,
} from "@klutch/api";
import { isUnauthorized } from "@klutch/kube";
import {
  type DynamicObject,
  falseCondition,
  jsonEqual,
  type NewCondition,
  trueCondition,
} from "@klutch/kube-core";
import type {
  Controller,
  ReadYourWritesCache,
  ReconcileContext,
  ReconcileResult,
} from "@klutch/kube-runtime";
import { createController } from "../../controller.ts";
import type { Part } from "../../lifecycle.ts";
import { bringCredential, ConsumerWriteError } from "../../provider-connection/bring-credential.ts";
import type { CredentialStore, ProviderConnection } from "../../provider-connection/provider-connection.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import type { Updates } from "../updates/reconciler.ts";
import type { ProviderParts } from "../service-namespace/provider-parts.ts";
import { ProviderSecretWatch } from "./provider-secret-watch.ts";
import { statusOf } from "./status.ts";

/** Options of the heartbeat. */
export interface ClusterBindingOptions extends ProviderParts {
  readonly connection: Pick<ProviderConnection, "prove" | "server" | "offerKey" | "describe">;
  /** ClusterBindings of this tenant. */
  readonly clusterBindings: ReadYourWritesCache;
  /** Absent in control-plane mode, where the agent has its own account. */
  readonly credentials: CredentialStore | undefined;
  /** For all bindings to this provider. */
  readonly report: (condition: NewCondition) => void;
  /** Called with `SecretValid` as the provider gets it. */
  readonly reportCredential: (condition: NewCondition) => void;
  readonly reportPrettyName: (prettyName: string) => void;
  /** Called with the limits of this app cluster, by API, each time the ClusterBinding is read. */
  readonly reportLimits: (limits: ReadonlyMap<string, ApiLimit>) => void;
  /** Called with the APIs that the provider announces, each time when these change. */
  readonly reportAdditions: (announced: readonly AnnouncedApi[]) => void;
  /** Has the words about updates. Undefined where the konnector does not follow them. */
  readonly updates: Pick<Updates, "said" | "onChange"> | undefined;
  /** Called with the version that the provider wants, each time the ClusterBinding is read. */
  readonly reportWanted: (version: string | undefined) => void;
  /** Called when a heartbeat arrives that this agent did not send. `version`: of the konnector that sent it, in its own words. */
  readonly reportOther: (version: string) => void;
}

/** The content of a heartbeat of this agent, besides its time. */
interface Said {
  readonly conditions: readonly NewCondition[];
  readonly renewalKey: string | undefined;
  readonly updates: KonnectorUpdates | undefined;
}

/** A konnector that held the lease before may have sent a heartbeat that arrives this late. */
const handOverMs = 20_000;

/** Reports every 40 seconds and after each change of the ClusterBinding or the credential. There is one key. */
export class ClusterBindingReconciler implements Part {
  readonly #options: ClusterBindingOptions;
  readonly #controller: Controller;
  readonly #providerSecret: ProviderSecretWatch;
  /** False when the ClusterBinding's CRD drops the renewal key: writing it again and again would not help. */
  #keepsKeys = true;
  /** The time of the last heartbeat that is accounted for. */
  #heartbeat: string | undefined;
  #said: Said | undefined;
  #announced: readonly AnnouncedApi[] | undefined;
  readonly #startedAt: number;

  constructor(options: ClusterBindingOptions) {
    this.#options = options;
    this.#startedAt = options.runtime.clock.monotonic();
    this.#controller = createController(options.runtime, "heartbeat", (_key, call) => this.#reconcile(call));
    this.#providerSecret = new ProviderSecretWatch(
      options.provider,
      this.#controller,
      clusterBindingName,
      options.runtime.logger,
    );
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clusterBindings: own, credentials } = this.#options;
    const key = (): readonly string[] => [clusterBindingName];
    using _one = this.#controller.watch(own.informer, key);
    using _two =
      credentials === undefined ? undefined : this.#controller.watch(credentials.cache.informer, key);
    using _three = this.#options.updates?.onChange(() =>
      this.#controller.enqueue(clusterBindingName, { reason: wakeReasons.updatesSaid }),
    );
    this.#controller.enqueue(clusterBindingName, { reason: wakeReasons.started });
    await this.#controller.start({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#providerSecret[Symbol.asyncDispose]();
  }

  async #reconcile(call: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { provider, clusterBindings: own, runtime, report, reportPrettyName } = this.#options;
    const cached = own.get(`${provider.tenant.namespace}/${clusterBindingName}`);
    if (cached === undefined) {
      report(failed("the provider has no ClusterBinding for this cluster; run kubectl bind again"));
      return undefined;
    }
    const binding = parseClusterBinding(cached);
    if (binding.prettyName !== undefined) reportPrettyName(binding.prettyName);
    this.#options.reportLimits(binding.limits);
    if (!jsonEqual(this.#announced, binding.newAPIs)) this.#options.reportAdditions(binding.newAPIs);
    this.#announced = binding.newAPIs;
    this.#options.reportWanted(binding.wantedKonnector);
    try {
      const secretValid = await this.#bringCredential(binding, call);
      if (secretValid === "unknown") return undefined;
      await this.#renewHeartbeat(binding, [trueCondition("ValidVersion"), ...secretValid], call.signal);
    } catch (error) {
      report(isUnauthorized(error) ? refused(this.#describe(error)) : failed(this.#describe(error)));
      throw error;
    }
    report(trueCondition("Heartbeating"));
    return { requeueAfterMs: runtime.timing.heartbeatMs };
  }

  /** Returns the conditions of the provider's credential; `unknown` until its Secret is seen, which starts another reconcile. */
  async #bringCredential(
    { kubeconfigSecretRef }: ForeignClusterBinding,
    { signal, logger }: ReconcileContext,
  ): Promise<readonly NewCondition[] | "unknown"> {
    const { consumer, provider, connection, credentials } = this.#options;
    if (credentials === undefined) return [];
    if (kubeconfigSecretRef === undefined) {
      const message = `spec.kubeconfigSecretRef of ClusterBinding ${provider.tenant.namespace}/${clusterBindingName} does not name a Secret and a key of it. The credential in use is kept`;
      return [falseCondition("SecretValid", "ProviderSecretInvalid", "Warning", message)];
    }
    const { name, key } = kubeconfigSecretRef;
    const hint = await this.#providerSecret.open(name);
    const { secretRef, cache } = credentials;
    if (!hint.informer.synced || !cache.informer.synced) return "unknown";
    const options = { consumer, provider, connection, hint, name, key, secretRef, cache, logger };
    const condition = await bringCredential(options, signal);
    this.#options.reportCredential(condition);
    return [condition];
  }

  async #renewHeartbeat(
    binding: ForeignClusterBinding,
    conditions: readonly NewCondition[],
    signal: AbortSignal,
  ): Promise<void> {
    const { provider, connection, clusterBindings: own, runtime } = this.#options;
    const { status, renewalUrl, resourceVersion } = binding;
    const now = runtime.clock.now();
    const renewalKey =
      renewalUrl === undefined || !this.#keepsKeys
        ? undefined
        : await connection.offerKey(renewalUrl, signal);
    const { heartbeatMs } = runtime.timing;
    this.#notice(status);
    const next = statusOf(binding, { conditions, renewalKey, now, heartbeatMs });
    const updates = this.#options.updates?.said();
    const said = { conditions, renewalKey, updates };
    const isNews = !jsonEqual(said, this.#said) || next.lastHeartbeatTime !== status.lastHeartbeatTime;
    // What another konnector changed is put right with the next heartbeat: else the two would answer each other without end.
    const isSaid = jsonEqual(updates, binding.konnectorUpdates);
    if ((jsonEqual(next, status) && isSaid) || !isNews) return;
    const ref = { namespace: provider.tenant.namespace, name: clusterBindingName };
    const words = isSaid ? {} : { konnectorUpdates: wordsOf(updates) };
    const patch = { metadata: { resourceVersion }, status: { ...next, ...words } };
    const options = { subresource: "status", signal };
    const answer = await provider.client.mergePatch<DynamicObject>(clusterBindings, ref, patch, options);
    const kept = parseClusterBinding(answer).status.renewalKey;
    if (renewalKey !== undefined && kept !== renewalKey) this.#keepsKeys = false;
    own.wrote(answer);
    this.#said = said;
    this.#heartbeat = next.lastHeartbeatTime;
  }

  /** Two konnectors with leases of different names, or two clusters with one kubeconfig. */
  #notice({ lastHeartbeatTime, konnectorVersion = "" }: ForeignClusterBinding["status"]): void {
    const { runtime, reportOther } = this.#options;
    const [before, shown] = [Date.parse(this.#heartbeat ?? ""), Date.parse(lastHeartbeatTime ?? "")];
    // Times are of whole seconds. An earlier one is of a server that was restored.
    const isForeign = this.#said !== undefined && konnectorVersion !== klutchVersion;
    const isOther = shown > before || (shown === before && isForeign);
    const isLate = runtime.clock.monotonic() - this.#startedAt > handOverMs;
    if (isOther && isLate) reportOther(konnectorVersion);
    this.#heartbeat = lastHeartbeatTime;
  }

  #describe(error: unknown): string {
    return error instanceof ConsumerWriteError
      ? error.message
      : `the heartbeat could not be written: ${this.#options.connection.describe(error)}`;
  }
}

/** A merge patch keeps fields that are absent: an old problem, and all words of a konnector that followed before. */
function wordsOf(updates: KonnectorUpdates | undefined): object | null {
  return updates === undefined ? null : { ...updates, problem: updates.problem ?? null };
}

function failed(message: string): NewCondition {
  return falseCondition("Heartbeating", "ClusterBindingUpdateFailed", "Warning", message);
}

function refused(message: string): NewCondition {
  return falseCondition("Heartbeating", "CredentialRefused", "Error", message);
}
