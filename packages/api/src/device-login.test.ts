/** Tests words of a login on another device: honest ones, and those of an identity provider, a backend or a plugin that lies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newClusterKey, publicKeyOf } from "./cluster-key.ts";
import {
  decodeDeviceCode,
  decodeDeviceLoginRequest,
  decodeDeviceLoginStart,
  decodeDevicePoll,
  decodeDevicePollRequest,
  longestDeviceLoginSeconds,
  longestPollSeconds,
} from "./device-login.ts";
import { WireError } from "./wire-fields.ts";

const page = "https://idp.example.org/device";
const code = {
  userCode: "WDJB-MJHT",
  verificationUri: page,
  verificationUriComplete: `${page}?user_code=WDJB-MJHT`,
  expiresIn: 600,
  interval: 5,
};
const request = {
  sessionId: "session1",
  clusterId: "abc-1",
  clusterName: "prod",
  answerKey: "k".repeat(43),
  clusterKey: publicKeyOf(newClusterKey()),
  wish: "service=postgresql",
};

test("an honest code is read as it is, and without an interval it is polled every five seconds", () => {
  assert.deepEqual(decodeDeviceCode(code), code);
  const { interval: _, verificationUriComplete: _c, ...least } = code;
  assert.deepEqual(decodeDeviceCode(least), { ...least, interval: 5 });
  assert.equal(decodeDeviceCode({ ...code, verificationUri: "http://127.0.0.1:1/d" }).interval, 5);
});

test("times are cut to what a person and a server can bear", () => {
  for (const [given, counts] of [
    [0, 1],
    [-7, 1],
    [0.2, 1],
    [1e9, longestPollSeconds],
    [Infinity, longestPollSeconds],
  ] as const)
    assert.equal(decodeDeviceCode({ ...code, interval: given }).interval, counts);
  for (const given of [1e9, Infinity])
    assert.equal(decodeDeviceCode({ ...code, expiresIn: given }).expiresIn, longestDeviceLoginSeconds);
});

test("a page of another server with the code filled in is left out", () => {
  for (const verificationUriComplete of ["https://evil.example/device", "javascript:alert(1)", 7, ""])
    assert.deepEqual(
      decodeDeviceCode({ ...code, verificationUriComplete }),
      decodeDeviceCode({ ...code, verificationUriComplete: undefined }),
    );
});

const lies: readonly (readonly [object, RegExp])[] = [
  [{ userCode: "\u001b[2J\u001b]0;owned\u0007" }, /^userCode: is ".*\[2J.*"; it must have 1 to 64 printable/],
  [{ userCode: "WDJB\u202eMJHT" }, /^userCode: /],
  [{ userCode: "two words" }, /^userCode: /],
  [{ userCode: "x".repeat(65) }, /^userCode: /],
  [{ userCode: "" }, /^userCode: is missing/],
  [{ userCode: 7 }, /^userCode: is missing/],
  [
    { verificationUri: "javascript:alert(1)" },
    /^verificationUri: is "javascript:alert\(1\)"; it must be an https/,
  ],
  [{ verificationUri: "http://idp.example.org/device" }, /^verificationUri: /],
  [{ verificationUri: "https://idp.example.org@evil.example/" }, /^verificationUri: /],
  [{ verificationUri: "https://idp.example.org/\u001b[2J" }, /^verificationUri: /],
  [{ verificationUri: "https://іdp.example.org/" }, /^verificationUri: /],
  [{ verificationUri: `https://idp.example.org/${"x".repeat(2_048)}` }, /^verificationUri: /],
  [{ verificationUri: null }, /^verificationUri: is missing/],
  [{ expiresIn: Number.NaN }, /^expiresIn: is "NaN"; it must be a number of seconds, 1 or more/],
  [{ expiresIn: "NaN" }, /^expiresIn: is ".*NaN/],
  [{ expiresIn: 0 }, /^expiresIn: is "0"/],
  [{ expiresIn: undefined }, /^expiresIn: is "missing"/],
  [{ interval: Number.NaN }, /^interval: is "NaN"; it must be a number of seconds/],
  [{ interval: "5" }, /^interval: is ".*5.*"; it must be a number/],
];
for (const [lie, words] of lies)
  test(`a code with ${JSON.stringify(lie).slice(0, 80)} is refused by name`, () => {
    const refused = (error: unknown): boolean => error instanceof WireError && words.test(error.message);
    assert.throws(() => decodeDeviceCode({ ...code, ...lie }), refused);
    assert.throws(() => decodeDeviceLoginStart({ ...code, handle: "h", ...lie }), refused);
    try {
      decodeDeviceCode({ ...code, ...lie });
    } catch (error) {
      for (const hidden of ["\u001b", "\u0007", "\u202e"]) assert.ok(!String(error).includes(hidden));
    }
  });

test("an honest request is read, and a name for people never refuses it", () => {
  const wish = { kind: "service", service: "postgresql" };
  assert.deepEqual(decodeDeviceLoginRequest(request), { ...request, wish });
  assert.equal(decodeDeviceLoginRequest({ ...request, clusterName: 7 }).clusterName, undefined);
  assert.equal(decodeDeviceLoginRequest({ ...request, clusterName: "a\u001b[2Jb" }).clusterName, "a [2Jb");
});

const wrong: readonly (readonly [object, RegExp])[] = [
  [{ sessionId: "" }, /^WireError: sessionId: is missing/],
  [{ sessionId: "a b" }, /^WireError: sessionId: is "a b"; it must have 1 to 64 letters/],
  [{ clusterId: "../x" }, /^WireError: clusterId: is "\.\.\/x"/],
  [{ clusterKey: "x" }, /^WireError: clusterKey: is not an Ed25519 public key/],
  [{ answerKey: "x".repeat(65) }, /^WireError: answerKey: is longer than 64/],
  [{ wish: "1" }, /^WireError: wish: names no API; it must be all, service=<service> or apis=/],
  [{ wish: undefined }, /^WireError: wish: is missing/],
  [{ wish: "apis=Not An Api" }, /^WireError: wish: names the API "Not An Api"/],
];
for (const [change, words] of wrong)
  test(`a request with ${JSON.stringify(change).slice(0, 60)} is refused by name`, () => {
    assert.throws(() => decodeDeviceLoginRequest({ ...request, ...change }), words);
  });

test("a poll and its answers are read, and anything else is refused by name", () => {
  assert.equal(decodeDevicePollRequest({ handle: "h" }), "h");
  assert.throws(() => decodeDevicePollRequest({}), /^WireError: handle: is missing/);
  assert.throws(() => decodeDevicePollRequest([]), /body: is not an object/);
  assert.throws(() => decodeDevicePollRequest({ handle: "x".repeat(16_385) }), /handle: is longer than/);
  assert.deepEqual(decodeDevicePoll(202, { handle: "h", interval: 1e9 }), {
    kind: "pending",
    handle: "h",
    interval: longestPollSeconds,
  });
  assert.deepEqual(decodeDevicePoll(200, { offer: "o" }), { kind: "offered", offer: "o" });
  assert.throws(() => decodeDevicePoll(200, { handle: "h", interval: 5 }), /offer: is missing/);
  assert.throws(() => decodeDevicePoll(202, { offer: "o" }), /handle: is missing/);
});
