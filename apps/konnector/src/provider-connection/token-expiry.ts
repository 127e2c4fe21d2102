/** When a credential was made and when it ends, as far as it says so itself. */
import type { ClusterConfig } from "@klutch/kube";
import { numberAt } from "@klutch/kube-core";

/** Seconds since the epoch at which the credential ends; undefined for other credentials than tokens, and for a token that says nothing. */
export function expiryOf(config: Pick<ClusterConfig, "auth">): number | undefined {
  return timeIn(config, "exp");
}

/**
 * Seconds since the epoch at which the token of `config` was made; undefined for one that does not say. Read from the JSON Web Token
 * (RFC 7519) without verifying it: what it says only decides which of two is tried.
 */
export function issuedAt(config: Pick<ClusterConfig, "auth">): number | undefined {
  return timeIn(config, "iat");
}

function timeIn({ auth }: Pick<ClusterConfig, "auth">, claim: "exp" | "iat"): number | undefined {
  if (auth.kind !== "token") return undefined;
  try {
    const [, payload = ""] = auth.token.reveal().split(".");
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    return numberAt(claims, claim);
  } catch {
    // No JSON Web Token: its end is unknown.
    return undefined;
  }
}
