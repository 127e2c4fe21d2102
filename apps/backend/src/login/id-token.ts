/**
 * The signature of an ID token (OpenID Connect Core 1.0 §3.1.3.7). openid-client checks the claims but leaves the signature out when the
 * token comes straight from the token endpoint; here it is always checked, against the keys that the provider publishes.
 */
import { errors, type JWTPayload } from "jose";
import type { Clock } from "@klutch/kube";
import type { Person } from "../identity.ts";
import { createKeySet } from "./key-set.ts";
import { personNameOf } from "./person-name.ts";
import { namesBy, userOf, type UserRules } from "../authorization/user-claims.ts";

/** Verifies one provider's tokens. Throws when a token is not exactly what it should be. */
export type IdTokenVerifier = (idToken: string) => Promise<Person>;

/** Only algorithms with a key pair: with HMAC a public key, or a secret that leaks, would be enough to make tokens. */
const algorithms = ["RS", "PS", "ES"].flatMap((family) => ["256", "384", "512"].map((bits) => family + bits));
/** OpenID Connect Core 1.0 §2: `sub` has at most 255 ASCII characters. Cookies have no room for more. */
const maxSubjectLength = 255;

/** Creates the verifier. Keys are fetched as `createKeySet` says. */
export function createIdTokenVerifier(options: {
  readonly issuer: string;
  readonly clientId: string;
  readonly keySetUrl: URL;
  readonly keyCooldownMs: number;
  readonly clock: Clock;
  /** Without them the person has no name in RBAC. */
  readonly userRules?: UserRules | undefined;
}): IdTokenVerifier {
  const { issuer, clientId, userRules } = options;
  const verify = createKeySet(options);
  return async (idToken) => {
    const { payload } = await verify(idToken, {
      algorithms: [...algorithms, "EdDSA", "Ed25519"],
      issuer,
      audience: clientId,
      requiredClaims: ["exp", "iat", "sub"],
      clockTolerance: 30,
    });
    return personOf(payload, userRules);
  };
}

function personOf(claims: JWTPayload, userRules: UserRules | undefined): Person {
  const { iss = "", sub = "" } = claims;
  if (sub === "" || sub.length > maxSubjectLength) {
    const message = `"sub" claim has ${sub.length} characters, 1 to ${maxSubjectLength} are allowed`;
    throw new errors.JWTClaimValidationFailed(message, {}, "sub", "invalid");
  }
  const displayName = personNameOf(claims);
  const { email, email_verified: isVerified } = claims;
  const isAddress = isVerified === true && typeof email === "string" && email.length <= maxSubjectLength;
  return {
    issuer: iss,
    subject: sub,
    ...(displayName === undefined ? {} : { displayName }),
    ...(isAddress ? { verifiedEmail: email } : {}),
    ...namesBy(userRules, (rules) => userOf(claims, rules)),
  };
}
