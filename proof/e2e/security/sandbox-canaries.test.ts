import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { findCanaries, secretsIn } from "./sandbox-canaries.ts";

const value = 'pass"word+with/odd=characters';
const canary = { name: "the planted one", value };

test("a planted secret is found as it is, in JSON, in a URL, in base64 and in hexadecimal, and is not shown", () => {
  const planted = {
    log: `connecting with ${value}!`,
    status: JSON.stringify({ message: `refused: ${value}` }),
    url: `postgres://u:${encodeURIComponent(value)}@host/db`,
    annotation: Buffer.from(value).toString("base64"),
    cookie: Buffer.from(`${value} and more`).toString("base64url"),
    event: Buffer.from(value).toString("hex"),
    argument: `--password\0${value}\0`,
    clean: "the password is somewhere else",
  };
  const texts = Object.entries(planted).map(([where, text]) => ({ where, text }));
  const hits = findCanaries(texts, [canary]);
  const expected = Object.keys(planted).filter((where) => where !== "clean");
  assert.deepEqual(hits, expected.map((where) => `${where} shows the planted one`).toSorted());
});

test("a token of any owner is found", () => {
  const part = Buffer.from(JSON.stringify({ alg: "RS256", kid: "some-key-of-the-tests" })).toString(
    "base64url",
  );
  const hits = findCanaries([{ where: "a log", text: `Bearer ${part}.${part}.${part}` }], []);
  assert.deepEqual(hits, ["a log shows a token"]);
});

test("the token of a Secret's kubeconfig and the lines of its private key are searched, and public values are not", () => {
  const kubeconfig = "users:\n- name: x\n  user:\n    token: a-long-token-of-somebody\n";
  assert.deepEqual(secretsIn("s", "kubeconfig", kubeconfig), [
    { name: "s", value: "a-long-token-of-somebody" },
  ]);
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const [line] = secretsIn("s", "tls.key", pem);
  assert.ok(line !== undefined && pem.includes(line.value));
  assert.equal(findCanaries([{ where: "a status", text: JSON.stringify({ pem }) }], [line]).length, 1);
  assert.deepEqual(secretsIn("s", "ca.crt", "-----BEGIN CERTIFICATE-----"), []);
  assert.deepEqual(secretsIn("s", "other", "short"), []);
});
