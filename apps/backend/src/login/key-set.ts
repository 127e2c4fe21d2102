/** Verifies tokens against the keys that an issuer publishes. Which claims count is the caller's part. */
import {
  createRemoteJWKSet,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from "jose";
import type { Clock } from "@klutch/kube";

/** Rejects with a `JOSEError` for a token that the options do not accept. */
export type VerifyToken = (token: string, options: JWTVerifyOptions) => Promise<JWTVerifyResult<JWTPayload>>;

const timeoutMs = 10_000;

/**
 * Creates it. A token that names an unknown key makes the keys be fetched once more, because providers change them; then not again for
 * `keyCooldownMs`, whatever tokens say.
 */
export function createKeySet(options: {
  readonly keySetUrl: URL;
  readonly keyCooldownMs: number;
  readonly clock: Clock;
}): VerifyToken {
  const { keySetUrl, keyCooldownMs, clock } = options;
  // Without its own fetches for unknown keys: it would wait after every fetch, also after the first one.
  const keys = createRemoteJWKSet(keySetUrl, { cooldownDuration: Infinity, timeoutDuration: timeoutMs });
  let nextFetchAt = -Infinity;
  return async (token, rules) => {
    try {
      return await jwtVerify(token, keys, rules);
    } catch (error) {
      const now = clock.monotonic();
      if (!(error instanceof errors.JWKSNoMatchingKey) || now < nextFetchAt) throw error;
      nextFetchAt = now + keyCooldownMs;
      await keys.reload();
      return jwtVerify(token, keys, rules);
    }
  };
}
