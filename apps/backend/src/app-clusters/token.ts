/**
 * Service account tokens of an app cluster's konnector (Kubernetes documentation, ServiceAccount token volume projection). The keys of the
 * AppCluster that the request names decide, and nothing is fetched: app clusters are often out of reach, and no token may choose where this
 * backend sends requests.
 */
import { type AppCluster, displayName, konnectorSubject } from "@klutch/api";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWK, type JWTPayload, jwtVerify } from "jose";
import { isRecord } from "@klutch/kube-core";
import { appClusterUserOf } from "../authorization/user-claims.ts";
import type { Person } from "../identity.ts";

/** An app cluster, as a program that binds. */
export interface AppClusterPerson extends Person {
  readonly client: string;
  readonly clusterName: string;
}

/** Issuer of all app clusters in records: an object of the control plane vouches for them. */
export const appClusterIssuer = "klutch:app-clusters";

/** Returns the app cluster's name among programs. */
export function appClusterClient(name: string): string {
  return `app-cluster:${name}`;
}

/** Signature algorithms of Kubernetes' own issuer, and of clouds. */
const algorithms = ["RS256", "ES256", "ES384", "ES512"];
/** Lifetime from which on a token is none of a projected volume, which the kubelet renews. */
const mostLifetime = 86_400;
const mostKeys = 32;
/** Clocks of two clusters differ. */
const clockTolerance = 30;

/** Returns the public keys of the text. Throws an `Error` that names the field and the rule. */
export function keysOf(jwks: string): JSONWebKeySet {
  const set = parsed(jwks);
  const keys: unknown = isRecord(set) ? set["keys"] : undefined;
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > mostKeys)
    throw new Error(`spec.identity.jwks must be {"keys": […]} with 1 to ${mostKeys} keys`);
  return { keys: keys.map((key: unknown, index) => publicKey(key, `spec.identity.jwks, keys[${index}]`)) };
}

function publicKey(key: unknown, at: string): JWK {
  if (!isRecord(key)) throw new Error(`${at} must be an object`);
  const { kty } = key;
  if (kty !== "RSA" && kty !== "EC") throw new Error(`${at} must have the kty RSA or EC`);
  if (key["d"] !== undefined) throw new Error(`${at} is a private key; give the public one`);
  return { ...key, kty };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("spec.identity.jwks is not JSON");
  }
}

/** Verifies a token for this AppCluster. Rejects with a `JOSEError`, or an `Error` about the keys; neither holds the token. */
export async function verifyAppCluster(
  { metadata: { name = "" }, spec }: AppCluster,
  token: string,
  audience: string,
): Promise<AppClusterPerson> {
  const { issuer, subject = konnectorSubject, jwks } = spec.identity;
  const { payload } = await jwtVerify(token, createLocalJWKSet(keysOf(jwks)), {
    algorithms,
    issuer,
    subject,
    audience,
    requiredClaims: ["exp", "iat"],
    clockTolerance,
  });
  const { exp = Number.POSITIVE_INFINITY, iat = 0 } = payload;
  if (exp - iat > mostLifetime) throw tooLong(payload);
  const client = appClusterClient(name);
  const clusterName = displayName(spec.displayName) ?? name;
  return {
    issuer: appClusterIssuer,
    subject: client,
    client,
    displayName: clusterName,
    clusterName,
    ...appClusterUserOf(name),
  };
}

function tooLong(payload: JWTPayload): errors.JWTClaimValidationFailed {
  return new errors.JWTClaimValidationFailed(
    `"exp" is more than ${mostLifetime} seconds after "iat": it is no token of a projected volume`,
    payload,
    "exp",
    "invalid",
  );
}
