/**
 * Values sealed for a browser: encrypted and authenticated (JWE `dir` + A256GCM, RFC 7516), with an end that the server checks. The
 * server keeps nothing, so any replica can read what another one sealed.
 */
import { hkdfSync } from "node:crypto";
import { base64url, EncryptJWT, errors, jwtDecrypt } from "jose";
import type { Secret } from "@klutch/telemetry";

/** Seals and opens values of one kind; a value of another kind does not open. */
export interface Sealer {
  seal(value: Readonly<Record<string, string>>, lifetimeSeconds: number): Promise<string>;
  /** The value; `expired` when its time is over; undefined when it was not sealed here or was changed. */
  open(sealed: string): Promise<Readonly<Record<string, string>> | "expired" | undefined>;
}

/** A sealer whose key is derived from the configured keys and the kind's name. */
export function createSealer(
  kind: string,
  keys: { readonly signing: Secret<Buffer>; readonly encryption: Secret<Buffer> | undefined },
): Sealer {
  const material = Buffer.concat([keys.signing.reveal(), keys.encryption?.reveal() ?? Buffer.alloc(0)]);
  const key = new Uint8Array(hkdfSync("sha256", material, "klutch-cookie", kind, 32));
  return {
    seal: (value, lifetimeSeconds) =>
      new EncryptJWT({ ...value })
        .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
        .setAudience(kind)
        .setIssuedAt()
        .setExpirationTime(`${lifetimeSeconds}s`)
        .encrypt(key),
    async open(sealed) {
      try {
        const { payload } = await jwtDecrypt(sealed, key, {
          audience: kind,
          keyManagementAlgorithms: ["dir"],
          contentEncryptionAlgorithms: ["A256GCM"],
          requiredClaims: ["exp"],
        });
        return Object.fromEntries(
          Object.entries(payload).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
        );
      } catch (error) {
        return error instanceof errors.JWTExpired ? "expired" : undefined;
      }
    },
  };
}

/** 256 random bits as text, for states, nonces and CSRF tokens. */
export function randomToken(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(32)));
}
