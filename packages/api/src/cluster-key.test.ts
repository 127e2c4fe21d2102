import assert from "node:assert/strict";
import { test } from "node:test";
import { isPublicKey, newClusterKey, publicKeyOf, signText, verifyText } from "./cluster-key.ts";
import {
  checkedRenewalUrl,
  clusterProofText,
  decodeChallengeOffer,
  decodeRenewalRequest,
  renewalText,
  renewalUrlOf,
} from "./renewal.ts";

test("a signature counts for its key and its text only", () => {
  const key = newClusterKey();
  const publicKey = publicKeyOf(key) ?? "";
  assert.ok(isPublicKey(publicKey));
  const signature = signText(key, "text");
  assert.equal(verifyText(publicKey, "text", signature), true);
  assert.equal(verifyText(publicKey, "text ", signature), false);
  assert.equal(verifyText(publicKeyOf(newClusterKey()) ?? "", "text", signature), false);
  for (const wrong of ["", "x", signature.slice(1), `${signature}A`]) {
    assert.equal(verifyText(publicKey, "text", wrong), false);
  }
  for (const wrong of ["", "revoked", `${publicKey}A`])
    assert.equal(verifyText(wrong, "text", signature), false);
});

test("a text that is not an Ed25519 key in PEM has no public key", () => {
  for (const text of ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]) {
    assert.equal(publicKeyOf(text), undefined);
  }
});

test("no text for one purpose can be one for the other", () => {
  const login = clusterProofText("https://a.example/renew", { sessionId: "s", clusterId: "c" }, "x");
  assert.notEqual(login.split("\n")[0], renewalText("u", { namespace: "n", challenge: "x" }).split("\n")[0]);
});

test("a renewal URL is https or on this machine, plain, and ends in /renew", () => {
  const good = [
    "https://a.example/renew",
    "https://a.example:8443/bind/renew",
    "http://127.0.0.1:8080/renew",
  ];
  for (const url of good) assert.equal(checkedRenewalUrl(url), url);
  const bad = [
    "http://a.example/renew",
    "https://user@a.example/renew",
    "https://a.example/renew?to=x",
    "https://a.example/renew#x",
    "https://a.example/other",
    "file:///renew",
    "https://A.example/renew",
    "",
    7,
  ];
  for (const url of bad) assert.equal(checkedRenewalUrl(url), undefined, String(url));
  assert.equal(renewalUrlOf({ renewal: { url: "https://a.example/renew" } }), "https://a.example/renew");
  for (const spec of [undefined, null, [], { renewal: "x" }, { renewal: { url: {} } }]) {
    assert.equal(renewalUrlOf(spec), undefined);
  }
});

test("foreign words are checked field by field", () => {
  assert.throws(() => decodeRenewalRequest({ namespace: "n", challenge: "c" }), /signature/);
  assert.throws(
    () => decodeRenewalRequest({ namespace: "n".repeat(64), challenge: "c", signature: "s" }),
    /namespace/,
  );
  assert.throws(() => decodeRenewalRequest(null), /namespace/);
  assert.deepEqual(decodeChallengeOffer({ challenge: "c", url: "ftp://a/renew" }), {
    challenge: "c",
    url: undefined,
  });
});
