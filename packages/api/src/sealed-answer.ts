/**
 * Seals a backend's answers to a login for the one plugin that waits for them: compact JWE (RFC 7516) with ECDH-ES over X25519 (RFC 8037)
 * and A256GCM. The plugin makes the key for one login and keeps it in memory, so an answer that passes through a browser, its history or a
 * proxy is of no use there. It says nothing about who sealed it: anybody who knows the public key can.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { isPublicKey } from "./cluster-key.ts";
import { record, WireError } from "./wire-fields.ts";

/** Purpose of a sealed answer, its header `typ`. One answer cannot serve for the other. */
export type AnswerType = "klutch-login-offer" | "klutch-binding";

/** The key of one login, in memory only. */
export interface AnswerKey {
  /** X25519, 32 bytes in base64url. */
  readonly publicKey: string;
  /** Returns the JSON value in an answer. Throws `WireError` if it was not sealed for this key and purpose, or was changed. */
  open(answer: string, type: AnswerType): unknown;
}

const algorithm = "A256GCM";

/** Makes a key. */
export function newAnswerKey(): AnswerKey {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  return {
    publicKey: publicPart(publicKey),
    open(answer, type) {
      const plain = openWith(privateKey, answer, type);
      if (plain === undefined) throw new WireError("answer", "was not sealed for this login");
      return plain;
    },
  };
}

/** Seals a JSON value. Throws `WireError` for a public key that is none. */
export function sealAnswer(publicKey: string, type: AnswerType, value: unknown): string {
  const { publicKey: own, privateKey } = generateKeyPairSync("x25519");
  const epk = { kty: "OKP", crv: "X25519", x: publicPart(own) };
  const header = encode(JSON.stringify({ alg: "ECDH-ES", enc: algorithm, typ: type, epk }));
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", contentKey(privateKey, publicKey), iv);
  cipher.setAAD(Buffer.from(header));
  const text = Buffer.concat([cipher.update(JSON.stringify(value), "utf8"), cipher.final()]);
  return [header, "", encode(iv), encode(text), encode(cipher.getAuthTag())].join(".");
}

function openWith(privateKey: KeyObject, answer: string, type: AnswerType): unknown {
  try {
    const parts = answer.split(".");
    const [header = "", wrapped, iv = "", text = "", tag = ""] = parts;
    if (parts.length !== 5 || wrapped !== "") return undefined;
    const { alg, enc, typ, epk } = record(JSON.parse(decode(header).toString("utf8")), "header");
    const { crv, x } = record(epk, "epk");
    if (alg !== "ECDH-ES" || enc !== algorithm || typ !== type) return undefined;
    if (crv !== "X25519" || typeof x !== "string") return undefined;
    const authTagLength = 16;
    const cipher = createDecipheriv("aes-256-gcm", contentKey(privateKey, x), decode(iv), { authTagLength });
    cipher.setAAD(Buffer.from(header));
    cipher.setAuthTag(decode(tag));
    const plain = Buffer.concat([cipher.update(decode(text)), cipher.final()]);
    return JSON.parse(plain.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Derives the key of the content: RFC 7518 §4.6.2, one round of Concat KDF with SHA-256, without party information. */
function contentKey(privateKey: KeyObject, publicKey: string): Buffer {
  const shared = agree(privateKey, publicKey);
  const name = Buffer.from(algorithm);
  return createHash("sha256")
    .update(Buffer.concat([number(1), shared, number(name.length), name, number(0), number(0), number(256)]))
    .digest();
}

function agree(privateKey: KeyObject, publicKey: string): Buffer {
  if (!isPublicKey(publicKey)) throw new WireError("answer key", "is not a public key");
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "X25519", x: publicKey }, format: "jwk" });
    // Fails for the points with which everybody would know the secret.
    return diffieHellman({ privateKey, publicKey: key });
  } catch {
    throw new WireError("answer key", "is not a public key");
  }
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function publicPart(key: KeyObject): string {
  return key.export({ format: "jwk" }).x ?? "";
}

function encode(value: string | Buffer): string {
  return Buffer.from(value).toString("base64url");
}

function decode(text: string): Buffer {
  return Buffer.from(text, "base64url");
}
