/** Tests logins on another device at an identity provider that lies or refuses, and of a plugin that sends anything. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JWTPayload } from "jose";
import { body, errorOf, handleOf, offerOf, stage } from "../testing/device-stage.ts";
import { lyingClientId } from "../testing/lying-identity-provider.ts";

const ends: readonly (readonly [string, number, unknown, number, RegExp])[] = [
  ["says no", 400, { error: "access_denied" }, 403, /was refused at the identity provider/],
  ["says no at Microsoft", 400, { error: "authorization_declined" }, 403, /was refused/],
  ["says that the code is over", 400, { error: "expired_token" }, 401, /The code has expired/],
  [
    "does not know the code",
    400,
    { error: "invalid_grant", error_description: "gone\u001b[2J" },
    401,
    /did not accept the login: invalid_grant: gone \[2J\./,
  ],
  ["sends no ID token", 200, { access_token: "a", token_type: "Bearer" }, 502, /sent no ID token/],
  ["sends a list", 200, [], 401, /could not be verified/],
  ["is down", 502, "<h1>Bad Gateway</h1>", 503, /cannot be used at the moment/],
];
for (const [what, status, answer, refusedWith, words] of ends)
  test(`an identity provider that ${what} gets words with ${refusedWith}`, async () => {
    await using stack = new AsyncDisposableStack();
    const { flow, pass, replica } = await stage(stack);
    const { post } = replica();
    const handle = handleOf(await post("/device", body));
    flow.poll(status, answer);
    pass(5);
    const refused = await post("/device/poll", { handle });
    assert.equal(refused.status, refusedWith, refused.text);
    assert.match(errorOf(refused), words);
  });

test("after an outage of the identity provider the same handle goes on", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, pass, replica } = await stage(stack);
  const { post } = replica();
  const handle = handleOf(await post("/device", body));
  flow.poll(503, "<h1>Away</h1>");
  pass(5);
  assert.equal((await post("/device/poll", { handle })).status, 503);
  await flow.approve();
  pass(5);
  await offerOf(await post("/device/poll", { handle }));
});

const tokens: readonly (readonly [string, JWTPayload, RegExp])[] = [
  ["of another issuer", { iss: "https://evil.example" }, /iss/],
  ["for another client", { aud: "somebody-else" }, /aud/],
  ["for the client of logins in a browser", { aud: lyingClientId }, /aud/],
  ["that is over", { iat: 1, exp: 2 }, /exp/],
  ["without a subject", { sub: "" }, /sub/],
  ["of a person with the name of a program", { sub: "client:tenant-a" }, /belongs to programs/],
];
for (const [what, claims, words] of tokens)
  test(`an ID token ${what} is refused as in a browser`, async () => {
    await using stack = new AsyncDisposableStack();
    const { flow, pass, replica } = await stage(stack);
    const { post } = replica();
    await flow.approve(claims);
    const handle = handleOf(await post("/device", body));
    pass(5);
    const refused = await post("/device/poll", { handle });
    assert.equal(refused.status, 401, refused.text);
    assert.match(errorOf(refused), words);
  });

const lies: readonly (readonly [Readonly<Record<string, unknown>>, RegExp])[] = [
  [{ user_code: "\u001b]0;owned\u0007" }, /cannot be used: userCode: is ".*owned.*"; it must/],
  [
    { verification_uri: "javascript:alert(1)" },
    /cannot be used: verificationUri: is "javascript:alert\(1\)"/,
  ],
  [{ verification_uri: "http://idp.example.org/" }, /verificationUri: .* must be an https address/],
  [{ expires_in: "NaN" }, /cannot be used: /],
  [{ expires_in: -5 }, /cannot be used: /],
  [{ interval: 0 }, /cannot be used: .*interval/],
  [{ interval: "fast" }, /cannot be used: /],
  [{ device_code: undefined }, /cannot be used: /],
  [{ device_code: "x".repeat(5_000) }, /device_code: is longer than 4096/],
];
for (const [fields, words] of lies)
  test(`a code with ${JSON.stringify(fields).slice(0, 60)} is refused with 502 and words`, async () => {
    await using stack = new AsyncDisposableStack();
    const { flow, replica } = await stage(stack);
    flow.code(fields);
    const refused = await replica().post("/device", body);
    assert.equal(refused.status, 502, refused.text);
    assert.match(errorOf(refused), words);
    assert.ok(!refused.text.includes("\\u001b"));
  });

test("an interval and an expiry of 1e9 seconds are cut to what can be waited for", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, replica } = await stage(stack);
  flow.code({ interval: 1e9, expires_in: 1e9 });
  const { json, text } = await replica().post("/device", body);
  assert.deepEqual([json["interval"], json["expiresIn"]], [60, 1_800], text);
});

test("an identity provider without the flow, with one that can be listened to, or that refuses this client, says so", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, replica } = await stage(stack);
  flow.refuseCodes(401, { error: "unauthorized_client", error_description: "The flow is disabled." });
  const disabled = await replica().post("/device", body);
  assert.equal(disabled.status, 502);
  assert.match(
    errorOf(disabled),
    /gives this backend no code .*: unauthorized_client: The flow is disabled\./,
  );
  flow.provider.describe({});
  const without = await replica().post("/device", body);
  assert.equal(without.status, 404);
  assert.match(errorOf(without), /^http:\/\/127\S+ offers no device login: its metadata have no device_auth/);
  assert.match(String(without.json["advice"]), /leave out --device/);
  flow.provider.describe({ device_authorization_endpoint: "http://idp.example.org/device" });
  const plain = await replica().post("/device", body);
  assert.equal(plain.status, 404);
  assert.match(errorOf(plain), /device_authorization_endpoint of its metadata must start with https/);
  await flow.provider.goAway();
  assert.equal((await replica().post("/device", body)).status, 503);
});

test("a body that is none is refused by name, and a backend that is busy holds off, without asking anyone", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, replica } = await stage(stack);
  const { post } = replica();
  for (const [path, sent, words] of [
    ["/device", "{", /The body is not JSON/],
    ["/device", [], /body: is not an object/],
    ["/device", { ...body, wish: "1" }, /wish: names no API/],
    ["/device", { ...body, clusterKey: "x" }, /clusterKey: is not an Ed25519/],
    ["/device", { ...body, answerKey: "x" }, /answerKey: is not an X25519/],
    ["/device", { ...body, answerKey: "A".repeat(43) }, /answerKey: is not an X25519/],
    ["/device", { ...body, clusterId: "a b" }, /clusterId: is "a b"; it must have/],
    ["/device/poll", {}, /handle: is missing/],
  ] as const) {
    const refused = await post(path, sent);
    assert.equal(refused.status, 400, refused.text);
    assert.match(errorOf(refused), words);
  }
  const busy = replica({ busy: true });
  for (const path of ["/device", "/device/poll"]) assert.equal((await busy.post(path, body)).status, 429);
  assert.deepEqual(flow.requests, []);
});
