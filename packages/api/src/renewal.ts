/** Words on the wire between a konnector without a valid credential and the backend: see designs/0005. */
import { WireError } from "./wire-fields.ts";

/** Annotation on a cluster namespace: the public key that may renew its credential, or `revoked`: then people may not bind it either. */
export const renewalKeyAnnotation = "klutch.anynines.com/renewal-key";
/** Annotation on a cluster namespace: creation time of the challenge that was accepted last; RFC 3339. */
export const lastRenewalAnnotation = "klutch.anynines.com/last-renewal";
/** Annotation on a kubeconfig Secret of an app cluster: URL at which its credential can be renewed. */
export const renewalUrlAnnotation = "klutch.anynines.com/renewal-url";
/** Annotation on a kubeconfig Secret of an app cluster: origin of the backend that a person logged in to. The plugin writes it. */
export const backendOriginAnnotation = "klutch.anynines.com/backend-origin";

/** Annotation on a cluster namespace: the public key of the app cluster that a member's plugin proved at a login. */
export const clusterKeyAnnotation = "klutch.anynines.com/cluster-key";
/** Annotation on a cluster namespace: its members, a JSON list of `{issuer, subject, since}`. */
export const membersAnnotation = "klutch.anynines.com/members";

/** Request of a konnector to the renewal URL. */
export interface RenewalRequest {
  /** The cluster namespace. */
  readonly namespace: string;
  /** Challenge that the backend issued shortly before, at `<renewal URL>/challenge`. */
  readonly challenge: string;
  /** Signature of `renewalText`, base64url. */
  readonly signature: string;
}

/** Returns the text to sign. `url` is the renewal URL as the konnector uses it, so that no other server can pass the signature on. */
export function renewalText(
  url: string,
  { namespace, challenge }: Omit<RenewalRequest, "signature">,
): string {
  return ["klutch.anynines.com/renew/v1", url, namespace, challenge].join("\n");
}

/** Part of a login that proves that the plugin holds the app cluster; in the query as `k`, `h` and `g`. */
export interface ClusterProof {
  readonly publicKey: string;
  readonly challenge: string;
  /** Signature of `clusterProofText`, base64url. */
  readonly signature: string;
}

/** Returns the text to sign for a login. `url` is the backend's renewal URL; session and cluster id are those of the login. */
export function clusterProofText(
  url: string,
  login: { readonly sessionId: string; readonly clusterId: string },
  challenge: string,
): string {
  return ["klutch.anynines.com/login/v1", url, login.sessionId, login.clusterId, challenge].join("\n");
}

/** A challenge and the renewal URL that the backend calls its own; the URL is undefined when it may not be used. Throws `WireError`. */
export function decodeChallengeOffer(value: unknown): {
  readonly challenge: string;
  readonly url: string | undefined;
} {
  return { challenge: decodeChallenge(value), url: checkedRenewalUrl(fieldOf(value, "url")) };
}

/** Returns the URL that issues challenges. */
export function challengeUrl(renewalUrl: string): string {
  return `${renewalUrl}/challenge`;
}

/** Throws `WireError` for anything else than a well-formed request. */
export function decodeRenewalRequest(value: unknown): RenewalRequest {
  return {
    namespace: textOf(value, "namespace", 63),
    challenge: textOf(value, "challenge", 2_048),
    signature: textOf(value, "signature", 128),
  };
}

/** The challenge in an answer. Throws `WireError`. */
export function decodeChallenge(value: unknown): string {
  return textOf(value, "challenge", 2_048);
}

/** The kubeconfig in an answer. Throws `WireError`. */
export function decodeRenewed(value: unknown): string {
  const encoded = textOf(value, "kubeconfig", 65_536);
  return Buffer.from(encoded, "base64").toString("utf8");
}

/**
 * The renewal URL that a provider names: https, or http on this machine for development; no credentials, no query. Undefined when it
 * names none that may be used.
 */
export function renewalUrlOf(serviceProviderSpec: unknown): string | undefined {
  const renewal = fieldOf(serviceProviderSpec, "renewal");
  return checkedRenewalUrl(fieldOf(renewal, "url"));
}

/** The same check for a URL that was written down. */
export function checkedRenewalUrl(text: unknown): string | undefined {
  return plainUrlEndingIn(text, "/renew");
}

/** Returns the URL at which a backend takes confirmations of logins, by the same rules; it ends in `/confirm`. */
export function checkedConfirmUrl(text: unknown): string | undefined {
  return plainUrlEndingIn(text, "/confirm");
}

/** Returns the URL at which a backend begins logins on another device, by the same rules; it ends in `/device`. */
export function checkedDeviceUrl(text: unknown): string | undefined {
  return plainUrlEndingIn(text, "/device");
}

/** Returns the URL at which a konnector binds by itself, by the same rules; it ends in `/bind-app-cluster`. */
export function checkedOwnBindUrl(text: unknown): string | undefined {
  return plainUrlEndingIn(text, "/bind-app-cluster");
}

/** Returns the URL at which a backend issues sessions, by the same rules; it ends in `/session`. */
export function checkedSessionUrl(text: unknown): string | undefined {
  return plainUrlEndingIn(text, "/session");
}

/** Returns the URL if it is https, or http on this machine, without credentials, query or fragment, and has this ending. */
function plainUrlEndingIn(text: unknown, ending: string): string | undefined {
  if (typeof text !== "string" || text.length > 2_048 || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && isLocal);
  const isPlain = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return isSafe && isPlain && url.href === text && url.pathname.endsWith(ending) ? text : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

function textOf(value: unknown, name: string, longest: number): string {
  const text = fieldOf(value, name);
  if (typeof text !== "string" || text === "") throw new WireError(name, "is missing or not a string");
  if (text.length > longest) throw new WireError(name, `is longer than ${longest} characters`);
  return text;
}
