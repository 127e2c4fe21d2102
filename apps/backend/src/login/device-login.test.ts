/** Tests a login on another device: codes, polls, who gets which APIs, and which handles count. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { confirmationText, crdNameOf, deviceGrant, newClusterKey, signText } from "@klutch/api";
import { UserError } from "../errors.ts";
import type { OfferedApi } from "../offered-api.ts";
import { createSealer } from "../sealed-cookie.ts";
import {
  body,
  clientSecret,
  errorOf,
  handleOf,
  keysOf,
  offerOf,
  pem,
  stage,
  url,
} from "../testing/device-stage.ts";
import { lyingDeviceClient, lyingDeviceCode } from "../testing/lying-device-flow.ts";
import { mariadb, postgresql, widgets } from "../testing/service-offers.ts";

test("a plugin gets words for its person, waits by the interval, and gets an offer that its key confirms", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, bound, pass, replica } = await stage(stack);
  const { post, confirmation, challenge } = replica();
  const started = await post("/device", body);
  assert.equal(started.status, 200, started.text);
  const { handle, ...words } = started.json;
  assert.deepEqual(words, {
    userCode: "WDJB-MJHT",
    verificationUri: "https://idp.example.org/device",
    verificationUriComplete: "https://idp.example.org/device?user_code=WDJB-MJHT",
    expiresIn: 600,
    interval: 5,
  });
  pass(5);
  const waiting = await post("/device/poll", { handle });
  assert.equal(waiting.status, 202, waiting.text);
  assert.match(String(waiting.json["message"]), /No one has logged in/);
  assert.equal(waiting.json["interval"], 5);
  await flow.approve({ sub: "anna", email: "anna@example.org", email_verified: true });
  pass(5);
  const offer = await offerOf(await post("/device/poll", { handle: handleOf(waiting) }));
  const { sessionId, subject, issuer, verifiedEmail, tenant, ticket, nonce } = offer;
  assert.deepEqual(
    { sessionId, subject, verifiedEmail, tenant },
    {
      sessionId: "session1",
      subject: "anna",
      verifiedEmail: "anna@example.org",
      tenant: { name: "cluster-one", relation: "founds" },
    },
  );
  assert.equal(bound.length, 0);
  const sent = await challenge();
  const text = confirmationText({
    ...body,
    url,
    challenge: sent,
    redirectUrl: deviceGrant,
    issuer,
    subject,
    nonce,
  });
  await confirmation.complete({ ticket, challenge: sent, signature: signText(pem, text) });
  assert.deepEqual(
    bound.map(({ apis }) => apis.toSorted()),
    [postgresql.map(crdNameOf).toSorted()],
  );
  assert.equal(bound[0]?.session.clusterName, "prod");
  // A public client, with the scopes of a login in a browser.
  assert.equal(flow.requests[0]?.form.get("scope"), "openid profile email");
  for (const { form } of flow.requests) {
    assert.equal(form.get("client_id"), lyingDeviceClient);
    assert.ok(!form.toString().includes(clientSecret));
  }
});

test("the key of another app cluster confirms nothing, nor does a signature for a redirect", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, bound, pass, replica } = await stage(stack);
  const { post, confirmation, challenge } = replica();
  await flow.approve();
  const started = await post("/device", body);
  pass(5);
  const { ticket, ...offer } = await offerOf(await post("/device/poll", { handle: handleOf(started) }));
  const sent = await challenge();
  const signed = (key: string, redirectUrl: string): string =>
    signText(key, confirmationText({ ...offer, ...body, url, challenge: sent, redirectUrl }));
  for (const signature of [signed(newClusterKey(), deviceGrant), signed(pem, "http://localhost:1/callback")])
    await assert.rejects(confirmation.complete({ ticket, challenge: sent, signature }), /did not sign/);
  assert.equal(bound.length, 0);
});

test("a poll before its time gets 429 with the wait, and the identity provider is not asked; also with an earlier handle", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, pass, replica } = await stage(stack);
  const [one, other] = [replica(), replica()];
  const first = handleOf(await one.post("/device", body));
  const early = await one.post("/device/poll", { handle: first });
  assert.deepEqual([early.status, early.retryAfter], [429, "5"]);
  assert.match(errorOf(early), /came too early; the next one may come in 5 s/);
  pass(5);
  const polls = (): number => flow.requests.filter(({ path }) => path === "/token").length;
  const atOnce = await Promise.all([1, 2, 3].map(() => one.post("/device/poll", { handle: first })));
  const statuses = atOnce.map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((left, right) => left - right),
    [202, 429, 429],
  );
  assert.equal(polls(), 1);
  // The first handle's time is over, but this replica knows better.
  assert.equal((await one.post("/device/poll", { handle: first })).status, 429);
  const second = handleOf(atOnce.find(({ status }) => status === 202) ?? early);
  assert.equal((await other.post("/device/poll", { handle: second })).status, 429);
  assert.equal(polls(), 1);
  pass(5);
  assert.equal((await other.post("/device/poll", { handle: second })).status, 202);
  assert.equal(polls(), 2);
});

test("slow_down makes every later wait five seconds longer, up to a minute", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, pass, replica } = await stage(stack);
  const { post } = replica();
  flow.poll(400, { error: "slow_down" });
  let handle = handleOf(await post("/device", body));
  const intervals: unknown[] = [];
  // No longer than each interval asks, so that the code of 600 s lives through all polls: the last second of a handle is real time.
  for (let poll = 0; poll < 13; poll++) {
    pass(Number(intervals.at(-1) ?? 5));
    const answer = await post("/device/poll", { handle });
    intervals.push(answer.json["interval"]);
    handle = handleOf(answer);
    assert.equal((await post("/device/poll", { handle })).retryAfter, String(answer.json["interval"]));
  }
  assert.deepEqual(intervals.slice(0, 3), [10, 15, 20]);
  assert.deepEqual(intervals.slice(-2), [60, 60]);
});

test("a handle brings one offer: later ones are refused without asking the identity provider", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, pass, replica } = await stage(stack);
  const { post } = replica();
  const first = handleOf(await post("/device", body));
  pass(5);
  const second = handleOf(await post("/device/poll", { handle: first }));
  await flow.approve();
  pass(5);
  await offerOf(await post("/device/poll", { handle: second }));
  const asked = flow.requests.length;
  pass(60);
  for (const handle of [first, second]) {
    const again = await post("/device/poll", { handle });
    assert.deepEqual([again.status, errorOf(again)], [400, "This login was used already."]);
  }
  assert.equal(flow.requests.length, asked);
});

test("a handle that was changed, of another backend, or sealed for something else opens nothing", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, pass, replica } = await stage(stack);
  const { post } = replica();
  await flow.approve();
  const handle = handleOf(await post("/device", body));
  pass(5);
  const parts = handle.split(".");
  const flipped = (parts[3] ?? "").replace(/^./, (first) => (first === "A" ? "B" : "A"));
  const cookie = await createSealer("session", keysOf(7)).seal({ deviceCode: "x", id: "x" }, 600);
  const foreign = handleOf(await replica({ keys: 8 }).post("/device", body));
  const forged = [[...parts.slice(0, 3), flipped, parts[4]].join("."), cookie, foreign, "x", `${handle}x`];
  for (const wrong of forged) {
    const refused = await post("/device/poll", { handle: wrong });
    assert.deepEqual([refused.status, /not made at this backend/.test(errorOf(refused))], [400, true]);
  }
  const over = await createSealer("device", keysOf(7)).seal({ id: "x" }, -1);
  const expired = await post("/device/poll", { handle: over });
  assert.deepEqual([expired.status, /The code has expired/.test(errorOf(expired))], [401, true]);
  assert.ok(!flow.requests.some(({ path }) => path === "/token"));
  await offerOf(await post("/device/poll", { handle }));
});

test("the person who approves decides: another one gets only their own APIs, and the offer names them", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, pass, replica } = await stage(stack);
  const { post } = replica();
  const handle = handleOf(await post("/device", body));
  await flow.approve({ sub: "mallory" });
  pass(5);
  assert.equal((await offerOf(await post("/device/poll", { handle }))).subject, "mallory");
});

const missing: readonly (readonly [string, readonly OfferedApi[], RegExp])[] = [
  [
    "service=postgresql",
    [mariadb],
    /^Service postgresql is not among those that you may bind\. Nearest: mariadb\.$/,
  ],
  [
    "apis=widgets,fridges,postgresqlinstance",
    [widgets, ...postgresql],
    /^fridges is not among the APIs that you may bind\. postgresqlinstance is not .* Nearest: postgresqlinstances\.anynines\.com\.$/,
  ],
  [
    "apis=widgets",
    [widgets, { ...widgets, group: "other.example" }],
    /^widgets is offered in several API groups: [\w., ]+\.$/,
  ],
  ["all", [], /^There is no API that you may bind here\.$/],
];
for (const [wish, offers, words] of missing)
  test(`a wish ${wish} of which something is missing is refused with 403, and names it`, async () => {
    await using stack = new AsyncDisposableStack();
    const { flow, pass, replica } = await stage(stack);
    const { post } = replica({ offers });
    await flow.approve();
    const handle = handleOf(await post("/device", { ...body, wish }));
    pass(5);
    const refused = await post("/device/poll", { handle });
    assert.equal(refused.status, 403, refused.text);
    assert.match(errorOf(refused), words);
  });

test("a person of a revoked tenant gets its words in the place of an offer", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, pass, replica } = await stage(stack);
  const { post } = replica({
    admit: () => {
      throw new UserError(403, "The platform operator revoked this tenant.", "Ask.");
    },
  });
  await flow.approve();
  const handle = handleOf(await post("/device", body));
  pass(5);
  const refused = await post("/device/poll", { handle });
  assert.deepEqual([refused.status, errorOf(refused)], [403, "The platform operator revoked this tenant."]);
});

test("of 5,000 groups those that count go into the ticket, and it stays small enough to be confirmed", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, bound, pass, replica } = await stage(stack);
  const { post, confirmation, challenge } = replica({ knownGroups: ["oidc:team-7"] });
  await flow.approve({ groups: Array.from({ length: 5_000 }, (_, index) => `team-${index}`) });
  const handle = handleOf(await post("/device", body));
  pass(5);
  const { ticket, ...offer } = await offerOf(await post("/device/poll", { handle }));
  assert.ok(ticket.length < 4_096, String(ticket.length));
  const sent = await challenge();
  const login = { ...offer, ...body, url, challenge: sent, redirectUrl: deviceGrant };
  await confirmation.complete({ ticket, challenge: sent, signature: signText(pem, confirmationText(login)) });
  assert.deepEqual(bound[0]?.session.groups, ["oidc:team-7"]);
});

test("no code, handle or token is in an answer in clear or in a log", async () => {
  await using stack = new AsyncDisposableStack();
  const { flow, lines, pass, replica } = await stage(stack);
  const { post } = replica();
  const started = await post("/device", body);
  pass(5);
  const waiting = await post("/device/poll", { handle: handleOf(started) });
  await flow.approve({ sub: "anna" });
  pass(5);
  const done = await post("/device/poll", { handle: handleOf(waiting) });
  await post("/device/poll", { handle: handleOf(done) });
  const answers = [started, waiting, done].map(({ text }) => text).join("");
  const log = lines.join("\n");
  assert.match(log, /a login on another device was approved/);
  for (const secret of [lyingDeviceCode, clientSecret, Buffer.from(lyingDeviceCode).toString("base64url")])
    assert.ok(!answers.includes(secret) && !log.includes(secret));
  for (const secret of [handleOf(started), handleOf(waiting), "WDJB-MJHT", "eyJ"])
    assert.ok(!log.includes(secret));
});
