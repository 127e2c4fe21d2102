/**
 * The signature of an ID token (OpenID Connect Core 1.0 §3.1.3.7). openid-client checks the claims but leaves the signature out when the
 * token comes straight from the token endpoint; here it is always checked, against the keys that the provider publishes.
 */
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from "jose";
import type { Clock } from "@klutch/kube";
import type { Person } from "../identity.ts";
import { personNameOf } from "./person-name.ts";
import { userOf, type UserRules } from "../authorization/user-claims.ts";

/** Verifies one provider's tokens. Throws when a token is not exactly what it should be. */
export type IdTokenVerifier = (idToken: string) => Promise<Person>;

/** Only algorithms with a key pair: with HMAC a public key, or a secret that leaks, would be enough to make tokens. */
const algorithms = ["RS", "PS", "ES"].flatMap((family) => ["256", "384", "512"].map((bits) => family + bits));
const timeoutMs = 10_000;
/** OpenID Connect Core 1.0 §2: `sub` has at most 255 ASCII characters. Cookies have no room for more. */
const maxSubjectLength = 255;

/**
 * A token that names an unknown key makes the keys be fetched once more, because providers change them; then not again for
 * `keyCooldownMs`, whatever tokens say.
 */
export function createIdTokenVerifier(options: {
  readonly issuer: string;
  readonly clientId: string;
  readonly keySetUrl: URL;
  readonly keyCooldownMs: number;
  readonly clock: Clock;
  /** Without them the person has no name in RBAC. */
  readonly userRules?: UserRules | undefined;
}): IdTokenVerifier {
  const { issuer, clientId, keySetUrl, keyCooldownMs, clock, userRules } = options;
  // Without its own fetches for unknown keys: it would wait after every fetch, also after the first one.
  const keys = createRemoteJWKSet(keySetUrl, { cooldownDuration: Infinity, timeoutDuration: timeoutMs });
  let nextFetchAt = -Infinity;
  const verify = async (idToken: string): Promise<JWTPayload> => {
    const { payload } = await jwtVerify(idToken, keys, {
      algorithms: [...algorithms, "EdDSA", "Ed25519"],
      issuer,
      audience: clientId,
      requiredClaims: ["exp", "iat", "sub"],
      clockTolerance: 30,
    });
    return payload;
  };
  const verifyWithNewKeys = async (idToken: string): Promise<JWTPayload> => {
    try {
      return await verify(idToken);
    } catch (error) {
      const now = clock.monotonic();
      if (!(error instanceof errors.JWKSNoMatchingKey) || now < nextFetchAt) throw error;
      nextFetchAt = now + keyCooldownMs;
      await keys.reload();
      return verify(idToken);
    }
  };
  return async (idToken) => personOf(await verifyWithNewKeys(idToken), userRules);
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
    ...(userRules === undefined ? {} : userOf(claims, userRules)),
  };
}
