/**
 * A new credential for a konnector whose old one has ended: it signs a challenge with the key that was registered while it had a
 * valid one. Nothing is kept in this process, so any replica can answer; that a challenge counts only once is written down on the
 * cluster namespace before anything is issued.
 */
import {
  isPublicKey,
  lastRenewalAnnotation,
  renewalKeyAnnotation,
  type RenewalRequest,
  renewalText,
  verifyText,
} from "@klutch/api";
import { type Clock, isConflict, isNotFound, type KubeClient } from "@klutch/kube";
import { type KubeObject, namespaces } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import { randomToken, type Sealer } from "../sealed-cookie.ts";
import { AccountMissingError } from "./account-missing.ts";
import type { CredentialIssuer } from "./credentials.ts";
import { isRevoked } from "./revocation.ts";

/** Reason why no new credential is issued. Strangers get the same answer for all of them. */
export type RenewalRefusal =
  | "challenge"
  | "unknown"
  | "signature"
  | "revoked"
  | "replayed"
  | "tooSoon"
  | "accountMissing";

/** Result of a request. */
export type RenewalOutcome =
  | { readonly kind: "renewed"; readonly kubeconfig: string }
  | { readonly kind: "refused"; readonly why: RenewalRefusal };

/** Answers konnectors that come back. Remembers nothing itself. */
export interface Renewal {
  /** Public URL of the renewal route, which is part of the signed text. */
  readonly url: string;
  /** A challenge that is good for a minute, at a login for the time that a login may take. Costs nothing in the cluster. */
  challenge(): Promise<string>;
  /** Throws only what the API server answers. */
  renew(request: RenewalRequest): Promise<RenewalOutcome>;
}

const challengeSeconds = 60;
const loginSeconds = 600;
/** Two renewals of one tenant are at least this far apart. */
const spacingMs = 2_000;
/** Checked against when there is no key, so that the answer takes as long; nothing follows from the result. */
const nobodysKey = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

export function createRenewal(parts: {
  readonly client: KubeClient;
  readonly namespaceCache: Pick<Informer<KubeObject>, "get">;
  readonly credentials: Pick<CredentialIssuer, "issue">;
  readonly sealer: Sealer;
  /** Public URL of the renewal route, which is part of the signed text. */
  readonly url: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Renewal {
  const { client, namespaceCache, credentials, sealer, url, clock, signal } = parts;
  const refused = (why: RenewalRefusal): RenewalOutcome => ({ kind: "refused", why });
  return {
    url,
    challenge: () => sealer.seal({ nonce: randomToken(), issuedAt: String(clock.now()) }, loginSeconds),
    async renew(request) {
      const opened = await sealer.open(request.challenge);
      const issuedAt = Number(typeof opened === "object" ? opened["issuedAt"] : Number.NaN);
      const tenant = namespaceCache.get(request.namespace);
      const cached = keyOf(tenant);
      const isSigned = verifyText(cached ?? nobodysKey, renewalText(url, request), request.signature);
      if (!(clock.now() - issuedAt <= challengeSeconds * 1000)) return refused("challenge");
      if (cached === undefined)
        return refused(tenant !== undefined && isRevoked(tenant) ? "revoked" : "unknown");
      if (!isSigned) return refused("signature");
      // The caller holds the key. The live object decides, for the key may have been revoked a moment ago.
      const live = await client.find<KubeObject>(namespaces, { name: request.namespace }, { signal });
      if (live === undefined || keyOf(live) !== cached) return refused("revoked");
      const last = Date.parse(live.metadata.annotations?.[lastRenewalAnnotation] ?? "");
      if (last >= issuedAt) return refused("replayed");
      if (issuedAt - last < spacingMs) return refused("tooSoon");
      if (!(await writeDown(live, issuedAt))) return refused("replayed");
      return issue(request.namespace);
    },
  };

  /** Records the renewal. Returns false if another request was faster. */
  async function writeDown({ metadata }: KubeObject, issuedAt: number): Promise<boolean> {
    const annotations = { [lastRenewalAnnotation]: new Date(issuedAt).toISOString() };
    const patch = { metadata: { resourceVersion: metadata.resourceVersion, annotations } };
    try {
      await client.mergePatch(namespaces, { name: metadata.name ?? "" }, patch, { signal });
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
  }

  async function issue(namespace: string): Promise<RenewalOutcome> {
    try {
      const { kubeconfig } = await credentials.issue(namespace, { signal });
      return { kind: "renewed", kubeconfig };
    } catch (error) {
      if (error instanceof AccountMissingError) return refused("accountMissing");
      throw error;
    }
  }
}

/** The registered key of a namespace that still is one. */
function keyOf(namespace: KubeObject | undefined): string | undefined {
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined;
  const key = namespace.metadata.annotations?.[renewalKeyAnnotation];
  return isPublicKey(key) ? key : undefined;
}
