/**
 * Logout tokens, by which an identity provider says that a person has logged out there (OpenID Connect Back-Channel Logout 1.0 §2.4 and §2.6). An ID token
 * or an access token of the same issuer must never pass for one.
 */
import type { Clock } from "@klutch/kube";
import { isRecord } from "@klutch/kube-core";
import { errors, type JWTPayload } from "jose";
import type { Identity } from "../identity.ts";
import { createKeySet } from "./key-set.ts";

/** A person who logged out at the identity provider. */
export interface ProviderLogout extends Identity {
  /** When, by the provider's clock; milliseconds since 1970. */
  readonly at: number;
}

/** Verifies one issuer's tokens. Rejects with a `JOSEError`, which names the claim and never the token. */
export type LogoutTokenVerifier = (token: string) => Promise<ProviderLogout>;

/** Types of the header; older issuers write `JWT`, or none. */
const headerTypes: readonly string[] = ["jwt", "logout+jwt", "application/logout+jwt"];
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";
const toleranceSeconds = 30;
/** Age at which a token is too old to be a message that is on its way. */
const longestAgeSeconds = 600;

/** Creates the verifier, with keys of its own: strangers may send tokens with unknown keys. */
export function createLogoutTokenVerifier(options: {
  readonly issuer: string;
  /** The clients of this backend. */
  readonly clientIds: readonly string[];
  readonly keySetUrl: URL;
  readonly keyCooldownMs: number;
  readonly clock: Clock;
}): LogoutTokenVerifier {
  const { issuer, clientIds } = options;
  const verify = createKeySet(options);
  return async (token) => {
    const { payload, protectedHeader } = await verify(token, {
      algorithms: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"],
      issuer,
      audience: [...clientIds],
      requiredClaims: ["iat", "exp", "jti"],
      clockTolerance: toleranceSeconds,
      maxTokenAge: longestAgeSeconds,
    });
    const { typ } = protectedHeader;
    if (typ !== undefined && !headerTypes.includes(typ.toLowerCase()))
      throw wrong(payload, "typ", "in the header is not logout+jwt or JWT");
    const { events, nonce, sub: subject, iat = 0 } = payload;
    if (!isRecord(events) || !isRecord(events[logoutEvent]))
      throw wrong(payload, "events", `does not have ${logoutEvent}: it is no logout token`);
    if (nonce !== undefined) throw wrong(payload, "nonce", "is present: it is an ID token");
    if (typeof subject !== "string" || subject === "")
      throw wrong(payload, "sub", "is missing, and sessions are known by it alone");
    return { issuer, subject, at: (iat + toleranceSeconds) * 1000 };
  };
}

function wrong(payload: JWTPayload, claim: string, what: string): errors.JWTClaimValidationFailed {
  return new errors.JWTClaimValidationFailed(`"${claim}" ${what}`, payload, claim, "invalid");
}
