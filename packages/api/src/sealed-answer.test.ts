import assert from "node:assert/strict";
import { test } from "node:test";
import { newAnswerKey, sealAnswer } from "./sealed-answer.ts";

test("an answer opens with the key that it was sealed for, for its purpose, and with nothing else", async () => {
  const key = await newAnswerKey();
  const value = { kubeconfig: "ünïcode", nested: [1, null, { a: "b" }] };
  const sealed = await sealAnswer(key.publicKey, "klutch-binding", value);
  assert.deepEqual(await key.open(sealed, "klutch-binding"), value);
  await assert.rejects(key.open(sealed, "klutch-login-offer"), /was not sealed for this login/);
  const other = await newAnswerKey();
  await assert.rejects(other.open(sealed, "klutch-binding"), /was not sealed for this login/);
  assert.ok(!Buffer.from(sealed, "base64url").toString("latin1").includes("kubeconfig"));
});

test("one changed character anywhere makes an answer useless", async () => {
  const key = await newAnswerKey();
  const sealed = await sealAnswer(key.publicKey, "klutch-binding", { a: 1 });
  for (let at = 0; at < sealed.length; at++) {
    // The last character of a part may have bits that no byte uses.
    if (at + 1 === sealed.length || sealed[at + 1] === "." || sealed[at] === ".") continue;
    const changed = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`;
    await assert.rejects(key.open(changed, "klutch-binding"), /was not sealed/, `character ${at}`);
  }
});

const header = (fields: object): string => Buffer.from(JSON.stringify(fields)).toString("base64url");
const epk = { kty: "OKP", crv: "X25519", x: (await newAnswerKey()).publicKey };
const typ = "klutch-binding";
const strange: Readonly<Record<string, string>> = {
  "no text": "",
  "a plain text": "e30",
  "a header that is no JSON": "!!.....",
  "a list as header": `${header([])}..a.b.c`,
  "another algorithm": `${header({ alg: "dir", enc: "A256GCM", typ, epk })}..a.b.c`,
  "keys of another algorithm": `${header({ alg: "ECDH-ES+A256KW", enc: "A256GCM", typ, epk })}.AAAA.a.b.c`,
  "a compressed text": `${header({ alg: "ECDH-ES", enc: "A256GCM", zip: "DEF", typ, epk })}..a.b.c`,
  "no encryption": `${header({ alg: "ECDH-ES", enc: "none", typ, epk })}..a.b.c`,
  "a wrapped key": `${header({ alg: "ECDH-ES", enc: "A256GCM", typ, epk })}.x.a.b.c`,
  "an empty iv and a short tag": `${header({ alg: "ECDH-ES", enc: "A256GCM", typ, epk })}..AA.AA.AA`,
  "a point with which everybody knows the secret": `${header({ alg: "ECDH-ES", enc: "A256GCM", typ, epk: { ...epk, x: "A".repeat(43) } })}..AAAA.AA.AAAA`,
};
for (const [what, answer] of Object.entries(strange)) {
  test(`an answer with ${what} is refused`, async () => {
    const key = await newAnswerKey();
    await assert.rejects(key.open(answer, "klutch-binding"), { code: "Wire" });
  });
}

test("nothing is sealed for a key that is none", async () => {
  for (const key of ["", "x", "A".repeat(43), "!".repeat(43)])
    await assert.rejects(sealAnswer(key, "klutch-binding", 1), { code: "Wire" });
});
