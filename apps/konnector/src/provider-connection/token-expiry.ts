/** When a credential ends, as far as it says so itself. */
import type { ClusterConfig } from "@klutch/kube";
import { isRecord } from "@klutch/kube-core";

/** Seconds since the epoch of a service account's token; undefined for other credentials, and for a token that says nothing. */
export function expiryOf({ auth }: Pick<ClusterConfig, "auth">): number | undefined {
  if (auth.kind !== "token") return undefined;
  try {
    const [, payload = ""] = auth.token.reveal().split(".");
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    const expiry = isRecord(claims) ? claims["exp"] : undefined;
    return typeof expiry === "number" ? expiry : undefined;
  } catch {
    // No JSON Web Token: its end is unknown.
    return undefined;
  }
}
