/** Back-channel logout at an identity provider that lies: which tokens end sessions, and that no other token of its issuer does. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "@klutch/kube";
import { createLogger, Secret } from "@klutch/telemetry";
import { Hono } from "hono";
import type { JWTPayload } from "jose";
import type { AuditRecord } from "../audit/audit.ts";
import { UserError } from "../errors.ts";
import { IdentityProvider } from "../login/identity-provider.ts";
import {
  lyingClientId,
  makeKey,
  type Signing,
  startLyingIdentityProvider,
} from "../testing/lying-identity-provider.ts";
import { addBackchannelRoute } from "./backchannel-route.ts";

const lying = await startLyingIdentityProvider();
after(() => lying[Symbol.asyncDispose]());
const lines: string[] = [];
const tokens: string[] = [];
const audited: AuditRecord[] = [];
const ended: { readonly subject: string; readonly before: number; readonly until: number }[] = [];
let failure: Error | undefined;
const identityProvider = new IdentityProvider(
  {
    issuer: lying.issuer,
    clientId: lyingClientId,
    clientSecret: new Secret("a-client-secret-that-is-long-enough-for-hs256"),
    callbackUrl: "http://127.0.0.1:1/callback",
    authorizeUrl: undefined,
    deviceClientId: "klutch-device",
  },
  systemClock,
  { keyCooldownMs: 0 },
);
const app = new Hono();
addBackchannelRoute(app, {
  identityProvider,
  ended: {
    endAll: async ({ subject }, times) => {
      if (failure !== undefined) throw failure;
      ended.push({ subject, ...times });
    },
  },
  lifetimeSeconds: 3_600,
  clock: systemClock,
  gate: { admit: () => true, addressOf: () => "192.0.2.9" },
  logger: createLogger({ name: "test", write: (line) => lines.push(line) }),
  audit: { record: (one) => void audited.push(one) },
});
const event = "http://schemas.openid.net/event/backchannel-logout";
const seconds = (): number => Math.floor(systemClock.now() / 1000);

/** Changes of an honest token; undefined leaves a claim out. */
type Change = Readonly<Record<string, unknown>>;

function claims(change: Change = {}): JWTPayload {
  const times = { iat: seconds(), exp: seconds() + 120 };
  const honest = {
    iss: lying.issuer,
    aud: lyingClientId,
    sub: "ann",
    jti: "1",
    sid: "s",
    events: { [event]: {} },
  };
  const all = { ...honest, ...times, ...change };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

async function send(
  form: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await app.request("/backchannel-logout", {
    method: "POST",
    body: new URLSearchParams(form),
  });
  return { status: response.status, text: await response.text() };
}

async function tell(change?: Change, signing?: Signing): ReturnType<typeof send> {
  const token = await lying.sign(claims(change), { typ: "logout+jwt", ...signing });
  tokens.push(token);
  return send({ logout_token: token });
}

test("a logout at the identity provider ends all sessions of the person that began until then, also for the other client", async () => {
  for (const aud of [lyingClientId, [lyingClientId, "shop"], "klutch-device"]) {
    const from = systemClock.now();
    assert.deepEqual(await tell({ aud }), { status: 200, text: "" });
    const { subject, before, until } = ended.at(-1) ?? { subject: "", before: 0, until: 0 };
    assert.equal(subject, "ann");
    assert.ok(before >= from && before <= systemClock.now(), "not later than now");
    assert.ok(until >= before + 3_600_000);
  }
  assert.equal((await tell({}, { typ: undefined })).status, 200, "an older issuer writes no type");
  const { decision, allowed, outcome, asker } = audited.at(-1) ?? {};
  assert.deepEqual(
    [decision, allowed, outcome, asker?.subject, asker?.address],
    ["logout", true, "LoggedOutAtProvider", "ann", "192.0.2.9"],
  );
});

test("a token that is repeated later ends no session that began after it", async () => {
  const iat = seconds() - 300;
  assert.equal((await tell({ iat })).status, 200);
  assert.equal(ended.at(-1)?.before, (iat + 30) * 1000);
});

test("another token of the same issuer, and any lie about one, ends nothing and says which claim is wrong", async () => {
  const count = ended.length;
  const lies: readonly (readonly [Change, Signing | undefined, RegExp])[] = [
    [{ events: undefined }, undefined, /\\"events\\" does not have http/],
    [{ events: [event] }, undefined, /\\"events\\" does not have/],
    [{ events: { [event]: true } }, undefined, /\\"events\\" does not have/],
    [{ nonce: "n" }, undefined, /\\"nonce\\" is present: it is an ID token/],
    [{ sub: undefined }, undefined, /\\"sub\\" is missing, and sessions are known by it alone/],
    [{ iss: "https://evil.example.org" }, undefined, /\\"iss\\"/],
    [{ aud: "shop" }, undefined, /\\"aud\\"/],
    [{ aud: undefined }, undefined, /\\"aud\\"/],
    [{ iat: undefined }, undefined, /\\"iat\\"/],
    [{ exp: undefined }, undefined, /\\"exp\\"/],
    [{ jti: undefined }, undefined, /\\"jti\\"/],
    [{ exp: seconds() - 60 }, undefined, /it has expired/],
    [{ iat: seconds() - 900 }, undefined, /too far in the past|it has expired/],
    [{ iat: seconds() + 900 }, undefined, /\\"iat\\"/],
    [{}, { typ: "at+jwt" }, /\\"typ\\" in the header is not logout\+jwt/],
    [{}, { key: await makeKey("first") }, /signature verification failed/],
    [{}, { key: await makeKey("forged") }, /no applicable key/],
    [{}, { hmac: new TextEncoder().encode("a-client-secret-that-is-long-enough-for-hs256") }, /\\"alg\\"/],
    [{}, { unsigned: true }, /not accepted/],
  ];
  for (const [change, signing, words] of lies) {
    const { status, text } = await tell(change, signing);
    assert.equal(status, 400, text);
    assert.match(text, words);
  }
  for (const form of [{}, { logout_token: "" }, { logout_token: "x.y.z" }, { id_token: "x" }])
    assert.equal((await send(form as Record<string, string>)).status, 400);
  assert.equal(ended.length, count);
});

test("while the control plane does not take it, the provider is told to repeat it, and the audit log says no", async () => {
  failure = new UserError(503, "It does not answer.", "Wait.");
  assert.equal((await tell()).status, 503);
  failure = undefined;
  assert.deepEqual([audited.at(-1)?.decision, audited.at(-1)?.allowed], ["logout", false]);
});

test("no log line holds a logout token", () => {
  assert.ok(lines.length > 20);
  for (const token of tokens)
    for (const line of lines) assert.ok(!line.includes(token.split(".")[1] ?? token));
});
