/** Holds the answers that are sealed for plugins against a JOSE library: each side reads what the other one wrote. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type LoginOffer, newAnswerKey, openOffer, sealOffer } from "@klutch/api";
import { compactDecrypt, CompactEncrypt, exportJWK, generateKeyPair, importJWK } from "jose";

const offer: LoginOffer = {
  sessionId: "session1",
  issuer: "https://idp.example.org",
  subject: "jane",
  displayName: "Jane Döe",
  verifiedEmail: "jane@example.org",
  tenant: { name: "cluster-one", relation: "joins" },
  nonce: "n",
  ticket: "t",
};

test("a JOSE library opens an offer", async () => {
  const { publicKey, privateKey } = await generateKeyPair("ECDH-ES", { crv: "X25519", extractable: true });
  const sealed = sealOffer((await exportJWK(publicKey)).x ?? "", offer);
  const { plaintext, protectedHeader } = await compactDecrypt(sealed, privateKey);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(plaintext)), offer);
  assert.deepEqual(
    [protectedHeader.alg, protectedHeader.enc, protectedHeader.typ],
    ["ECDH-ES", "A256GCM", "klutch-login-offer"],
  );
});

test("an offer that a JOSE library sealed is opened", async () => {
  const key = newAnswerKey();
  const publicKey = await importJWK({ kty: "OKP", crv: "X25519", x: key.publicKey }, "ECDH-ES");
  const sealed = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(offer)))
    .setProtectedHeader({ alg: "ECDH-ES", enc: "A256GCM", typ: "klutch-login-offer" })
    .encrypt(publicKey);
  assert.deepEqual(openOffer(key, sealed), offer);
});
