/**
 * Comes back after the credential of the provider has ended: signs a challenge of the provider's backend with the key of this app
 * cluster and writes the kubeconfig that it gets into the Secret, whose watch brings it into use. Works only where the backend offered
 * it before (designs/0005); elsewhere nothing happens.
 */
import {
  backendOriginAnnotation,
  challengeUrl,
  checkedRenewalUrl,
  decodeChallenge,
  decodeRenewed,
  kubeconfigKey,
  publicKeyOf,
  renewalText,
  renewalUrlAnnotation,
  signText,
} from "@klutch/api";
import { type ClusterConfig, parseForeignKubeconfig } from "@klutch/kube";
import { type DynamicObject, keyOfRef, type ObjectRef, secrets, secretText } from "@klutch/kube-core";
import { Backoff, type ReadYourWritesCache, untilAborted } from "@klutch/kube-runtime";
import type { ConsumerCluster, RuntimeDependencies } from "../clusters.ts";
import type { Startable } from "../lifecycle.ts";
import { ensureClusterKey, readClusterKey } from "./cluster-key.ts";
import { type JsonAnswer, postJson } from "./post-json.ts";

/** Options of a renewal. */
export interface RenewalOptions {
  readonly consumer: ConsumerCluster;
  /** The Secret in the app cluster with the provider's kubeconfig. */
  readonly secretRef: ObjectRef;
  readonly cache: ReadYourWritesCache;
  readonly runtime: RuntimeDependencies;
  /** Tries a kubeconfig with one request. */
  readonly prove: (config: ClusterConfig, signal: AbortSignal) => Promise<string>;
}

/** The backend did not give a credential. */
class RenewalError extends Error {
  readonly code = "Renewal";
}

/** Tries while the provider refuses the credential. Without an offer of the backend it does nothing. */
export class Renewal implements Startable {
  readonly #options: RenewalOptions;
  #refused = Promise.withResolvers<void>();
  #isRefused = false;
  #problem: string | undefined;
  /** A URL of the provider that no one accepted. */
  #refusedUrl: string | undefined;
  #offered: { readonly url: string; readonly publicKey: string } | undefined;

  constructor(options: RenewalOptions) {
    this.#options = options;
  }

  /** Reason of the last failure, as sentences that end with a blank. */
  get problem(): string | undefined {
    const foreign =
      this.#refusedUrl === undefined
        ? undefined
        : `The provider names ${this.#refusedUrl} to renew it, which is not the backend that was accepted in this cluster. `;
    return foreign === undefined ? this.#problem : `${this.#problem ?? ""}${foreign}`;
  }

  /** The provider refused the credential in use. */
  refused(): void {
    this.#isRefused = true;
    this.#refused.resolve();
  }

  /** Another credential is in use. */
  rotated(): void {
    this.#problem = undefined;
    // A promise that nothing has resolved yet is what `start` waits for.
    if (!this.#isRefused) return;
    this.#isRefused = false;
    this.#refused = Promise.withResolvers<void>();
  }

  /**
   * Makes sure that this cluster has a key and remembers the URL; gives back the public key. Undefined when that fails, and for a URL of
   * another origin than the accepted one: the provider must not choose where this agent sends requests.
   */
  async offer(url: string, signal: AbortSignal): Promise<string | undefined> {
    const { secretRef, cache, runtime } = this.#options;
    const origin = acceptedOrigin(cache.get(keyOfRef(secretRef)));
    if (origin !== undefined && new URL(url).origin !== origin) {
      if (this.#refusedUrl !== url)
        runtime.logger.warn("the provider names a renewal URL that no one accepted", { url, origin });
      this.#refusedUrl = url;
      return undefined;
    }
    this.#refusedUrl = undefined;
    try {
      return await this.#remember(url, signal);
    } catch (error) {
      signal.throwIfAborted();
      runtime.logger.warn("the app cluster does not keep the key for renewals", { ...secretRef, error });
      return undefined;
    }
  }

  async #remember(url: string, signal: AbortSignal): Promise<string | undefined> {
    const { consumer, secretRef, cache } = this.#options;
    const present = cache.get(keyOfRef(secretRef));
    const isKnown = present?.metadata.annotations?.[renewalUrlAnnotation] === url;
    if (isKnown && this.#offered?.url === url) return this.#offered.publicKey;
    const key = await ensureClusterKey(consumer, secretRef.namespace ?? "", signal);
    const publicKey = key === undefined ? undefined : publicKeyOf(key);
    if (publicKey === undefined) return undefined;
    if (!isKnown) {
      const patch = { metadata: { annotations: { [renewalUrlAnnotation]: url } } };
      cache.wrote(await consumer.client.mergePatch<DynamicObject>(secrets, secretRef, patch, { signal }));
    }
    this.#offered = { url, publicKey };
    return publicKey;
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clock, random, logger } = this.#options.runtime;
    const backoff = new Backoff({ baseMs: 1_000, capMs: 60_000, random });
    const ended = untilAborted(signal);
    while (!signal.aborted) {
      if (!this.#isRefused) {
        backoff.reset();
        await Promise.race([this.#refused.promise, ended]);
        continue;
      }
      try {
        await this.#renew(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#problem = `The credential could not be renewed: ${error instanceof Error ? error.message : String(error)}. `;
        logger.warn("the provider's credential could not be renewed", { ...this.#options.secretRef, error });
      }
      await clock.sleep(backoff.next(), { signal }).catch(() => undefined);
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { consumer, secretRef, cache, runtime } = this.#options;
    const present = cache.get(keyOfRef(secretRef));
    const text = secretText(present, kubeconfigKey);
    const url = checkedRenewalUrl(present?.metadata.annotations?.[renewalUrlAnnotation]);
    if (present === undefined || text === undefined || url === undefined) return;
    // A person may have bound another backend since it was remembered.
    if (new URL(url).origin !== acceptedOrigin(present)) return;
    const key = await readClusterKey(consumer, secretRef.namespace ?? "", signal);
    if (key === undefined) return;
    const renewed = await this.#ask(url, key, parseForeignKubeconfig(text), signal);
    const patch = {
      // A person may have bound again meanwhile: theirs is not written over.
      metadata: { resourceVersion: present.metadata.resourceVersion },
      data: { [kubeconfigKey]: Buffer.from(renewed).toString("base64") },
    };
    cache.wrote(await consumer.client.mergePatch<DynamicObject>(secrets, secretRef, patch, { signal }));
    runtime.logger.info("renewed the provider's credential", { ...secretRef });
  }

  /** A kubeconfig for the same server and namespace as `current`, proven by one request. */
  async #ask(url: string, key: string, current: ClusterConfig, signal: AbortSignal): Promise<string> {
    const namespace = current.namespace ?? "";
    const challenge = decodeChallenge(accepted(url, await postJson(challengeUrl(url), {}, signal)));
    const signature = signText(key, renewalText(url, { namespace, challenge }));
    const answer = await postJson(url, { namespace, challenge, signature }, signal);
    const renewed = decodeRenewed(accepted(url, answer));
    const config = { ...parseForeignKubeconfig(renewed), name: "provider" };
    if (config.server !== current.server || config.namespace !== namespace) {
      throw new RenewalError(`${url} sent a kubeconfig for ${config.server}, namespace ${config.namespace}`);
    }
    await this.#options.prove(config, signal);
    return renewed;
  }
}

/** The origin that a person accepted; else that of the first URL, which counts where the plugin wrote none; undefined before there is one. */
function acceptedOrigin(secret: DynamicObject | undefined): string | undefined {
  const { [backendOriginAnnotation]: chosen, [renewalUrlAnnotation]: first } =
    secret?.metadata.annotations ?? {};
  const url = chosen ?? checkedRenewalUrl(first);
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
}

function accepted(url: string, { status, body }: JsonAnswer): unknown {
  if (status === 200) return body;
  throw new RenewalError(
    status === 403
      ? `${url} refused the key of this cluster; it was revoked, or was never registered`
      : `${url} answered HTTP ${status}`,
  );
}
