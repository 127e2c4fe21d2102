/**
 * Creates and checks the key of an app cluster, which is made there, kept in a Secret there, and never sent anywhere. A signature proves
 * access to the cluster. Ed25519 (RFC 8032); each purpose signs a different text, so that one signature cannot serve another.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import type { DynamicObject } from "@klutch/kube-core";

/** Name of the Secret in the namespace `klutch-bind`. */
export const clusterKeySecret = "klutch-cluster-key";
/** Key of the Secret that holds the private key, PKCS #8 in PEM. */
export const clusterKeyDataKey = "private-key";

/** The Secret that holds the private key. */
export function clusterKeySecretObject(namespace: string, privatePem: string): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: clusterKeySecret },
    type: "Opaque",
    data: { [clusterKeyDataKey]: Buffer.from(privatePem).toString("base64") },
  };
}

/** A new private key in PEM. */
export function newClusterKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** The public key that belongs to a private key in PEM: 32 bytes in base64url. Undefined when the PEM is not such a key. */
export function publicKeyOf(privatePem: string): string | undefined {
  try {
    const { x, crv } = createPublicKey(createPrivateKey(privatePem)).export({ format: "jwk" });
    return crv === "Ed25519" && isPublicKey(x) ? x : undefined;
  } catch {
    return undefined;
  }
}

/** Returns true if a text has the form of a public key. */
export function isPublicKey(text: unknown): text is string {
  return typeof text === "string" && /^[\w-]{43}$/.test(text);
}

/** Signs `text`; base64url. */
export function signText(privatePem: string, text: string): string {
  return sign(null, Buffer.from(text), createPrivateKey(privatePem)).toString("base64url");
}

/** Returns true if the holder of `publicKey` signed `text`. */
export function verifyText(publicKey: string, text: string, signature: string): boolean {
  if (!isPublicKey(publicKey) || !/^[\w-]{86}$/.test(signature)) return false;
  try {
    return verify(null, Buffer.from(text), keyOf(publicKey), Buffer.from(signature, "base64url"));
  } catch {
    return false;
  }
}

function keyOf(publicKey: string): KeyObject {
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
}
