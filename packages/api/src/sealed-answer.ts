/**
 * Seals a backend's answers to a login for the one plugin that waits for them: compact JWE (RFC 7516) with ECDH-ES over X25519 (RFC 8037)
 * and A256GCM. The plugin makes the key for one login and keeps it in memory, so an answer that passes through a browser, its history or a
 * proxy is of no use there. It says nothing about who sealed it: anybody who knows the public key can.
 */
import { compactDecrypt, CompactEncrypt, exportJWK, generateKeyPair, importJWK } from "jose";
import { isPublicKey } from "./cluster-key.ts";
import { WireError } from "./wire-fields.ts";

/** Purpose of a sealed answer, its header `typ`. One answer cannot serve for another. */
export type AnswerType = "klutch-login-offer" | "klutch-binding" | "klutch-session-offer" | "klutch-session";

/** The key of one login, in memory only. */
export interface AnswerKey {
  /** X25519, 32 bytes in base64url. */
  readonly publicKey: string;
  /** Returns the JSON value in an answer. Rejects with `WireError` if it was not sealed for this key and purpose, or was changed. */
  open(answer: string, type: AnswerType): Promise<unknown>;
}

const alg = "ECDH-ES";
const enc = "A256GCM";
const crv = "X25519";
const accepted = { keyManagementAlgorithms: [alg], contentEncryptionAlgorithms: [enc] };

/** Makes a key. */
export async function newAnswerKey(): Promise<AnswerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { crv });
  const { x = "" } = await exportJWK(publicKey);
  return {
    publicKey: x,
    async open(answer, type) {
      try {
        const { plaintext, protectedHeader } = await compactDecrypt(answer, privateKey, accepted);
        const value: unknown = JSON.parse(new TextDecoder().decode(plaintext));
        if (protectedHeader.typ === type) return value;
      } catch {
        // The sender learns nothing about the reason.
      }
      throw new WireError("answer", "was not sealed for this login");
    },
  };
}

/** Seals a JSON value. Rejects with `WireError` for a public key that is none. */
export async function sealAnswer(publicKey: string, type: AnswerType, value: unknown): Promise<string> {
  if (!isPublicKey(publicKey)) throw new WireError("answer key", "is not a public key");
  const plaintext = new TextEncoder().encode(JSON.stringify(value));
  const sealing = new CompactEncrypt(plaintext).setProtectedHeader({ alg, enc, typ: type });
  try {
    // Fails for the points with which everybody would know the secret.
    return await sealing.encrypt(await importJWK({ kty: "OKP", crv, x: publicKey }, alg));
  } catch {
    throw new WireError("answer key", "is not a public key");
  }
}
