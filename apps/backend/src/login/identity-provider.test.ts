import assert from "node:assert/strict";
import { test } from "node:test";
import { exportSPKI, importJWK, type JWTPayload } from "jose";
import { type Clock, systemClock } from "@klutch/kube";
import { Secret } from "@klutch/telemetry";
import { UserError } from "../errors.ts";
import {
  lyingClientId,
  type LyingIdentityProvider,
  makeKey,
  type Signing,
  startLyingIdentityProvider,
} from "../testing/lying-identity-provider.ts";
import type { Person } from "../identity.ts";
import { IdentityProvider, type IdentityProviderOptions } from "./identity-provider.ts";

const clientSecret = "a-client-secret-that-is-long-enough-for-hs256";

function identityProvider(
  lying: LyingIdentityProvider,
  options: IdentityProviderOptions = {},
  clock: Clock = systemClock,
): IdentityProvider {
  const config = {
    issuer: lying.issuer,
    clientId: lyingClientId,
    clientSecret: new Secret(clientSecret),
    callbackUrl: "http://127.0.0.1:1/callback",
    authorizeUrl: undefined,
  };
  return new IdentityProvider(config, clock, options);
}

/** One login, which the identity provider answers with a token of these claims. */
async function logIn(
  provider: IdentityProvider,
  lying: LyingIdentityProvider,
  change: (claims: JWTPayload) => JWTPayload = (claims) => claims,
  signing: Signing = {},
): Promise<Person> {
  const { secrets } = await provider.begin();
  await lying.answerWith(change(lying.claims(secrets.nonce)), signing);
  return provider.finish(`?code=c&state=${secrets.state}`, secrets);
}

const refused =
  (words: RegExp, status = 401) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof UserError, String(error));
    assert.equal(error.status, status, error.message);
    assert.match(error.message, words);
    assert.doesNotMatch(error.message, /eyJ/);
    return true;
  };

test("an honest ID token logs its subject in", async () => {
  await using lying = await startLyingIdentityProvider();
  assert.deepEqual(await logIn(identityProvider(lying), lying), { issuer: lying.issuer, subject: "someone" });
});

test("a verified ID token also says how its person is called, and a hostile one does not get far with it", async () => {
  await using lying = await startLyingIdentityProvider();
  const provider = identityProvider(lying);
  const named = async (more: JWTPayload): Promise<unknown> =>
    (await logIn(provider, lying, (claims) => ({ ...claims, ...more }))).displayName;
  assert.equal(await named({ email: "jane@example.org" }), "jane@example.org");
  assert.equal(await named({ email: { evil: true }, name: "a\u001b[2Jb" }), "a [2Jb");
  assert.equal(await named({ email: "x".repeat(10_240) }), `${"x".repeat(127)}…`);
});

test("an ID token that another key signed is refused, whatever key it names", async () => {
  await using lying = await startLyingIdentityProvider();
  const provider = identityProvider(lying);
  const other = await makeKey("other");
  const same = (claims: JWTPayload): JWTPayload => ({ ...claims, sub: "admin" });
  await assert.rejects(logIn(provider, lying, same, { key: other, kid: "first" }), refused(/signature/));
  await assert.rejects(logIn(provider, lying, same, { key: other }), refused(/key/));
  await assert.rejects(logIn(provider, lying, same, { key: other, kid: null }), refused(/signature/));
});

test("an ID token without a signature is refused", async () => {
  await using lying = await startLyingIdentityProvider();
  await assert.rejects(
    logIn(identityProvider(lying), lying, undefined, { unsigned: true }),
    refused(/none|alg/),
  );
});

test("an ID token signed with HS256 is refused, with the client's secret as with the public key as the secret", async () => {
  await using lying = await startLyingIdentityProvider();
  const provider = identityProvider(lying);
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  await assert.rejects(logIn(provider, lying, undefined, { hmac: bytes(clientSecret) }), refused(/alg/i));
  const publicKey = await importJWK(lying.key.publicJwk, "RS256", { extractable: true });
  assert.ok(publicKey instanceof CryptoKey);
  const pem = bytes(await exportSPKI(publicKey));
  await assert.rejects(logIn(provider, lying, undefined, { hmac: pem }), refused(/alg/i));
});

const without =
  (name: string) =>
  (claims: JWTPayload): JWTPayload =>
    Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));
const past = (): number => Math.floor(Date.now() / 1000) - 600;
const lies: readonly (readonly [string, (claims: JWTPayload) => JWTPayload, RegExp])[] = [
  ["of another issuer", (claims) => ({ ...claims, iss: "https://idp.example.org" }), /iss/],
  ["for another client", (claims) => ({ ...claims, aud: "somebody-else" }), /aud/],
  [
    "for two clients that names the other one as its user",
    (claims) => ({ ...claims, aud: [lyingClientId, "somebody-else"], azp: "somebody-else" }),
    /azp/,
  ],
  ["of another login", (claims) => ({ ...claims, nonce: "of-another-login" }), /nonce/],
  ["without a nonce", without("nonce"), /nonce/],
  ["that is over", (claims) => ({ ...claims, iat: past(), exp: past() + 60 }), /exp/],
  ["without an end", without("exp"), /exp/],
  ["without a subject", without("sub"), /sub/],
  ["with an empty subject", (claims) => ({ ...claims, sub: "" }), /sub/],
  [
    "with a subject of more than 255 characters",
    (claims) => ({ ...claims, sub: "s".repeat(256) }),
    /sub.*255/,
  ],
];

for (const [what, change, words] of lies) {
  test(`an ID token ${what} is refused, although its signature is good`, async () => {
    await using lying = await startLyingIdentityProvider();
    await assert.rejects(logIn(identityProvider(lying), lying, change), refused(words));
  });
}

test("a new key of the identity provider is fetched when a token names it", async () => {
  await using lying = await startLyingIdentityProvider();
  const provider = identityProvider(lying);
  await logIn(provider, lying);
  await lying.rotate();
  assert.equal((await logIn(provider, lying)).subject, "someone");
  assert.equal(lying.keySetReads, 2);
  await logIn(provider, lying);
  assert.equal(lying.keySetReads, 2, "known keys were fetched again");
});

test("tokens that name unknown keys do not make the backend fetch keys for each of them", async () => {
  await using lying = await startLyingIdentityProvider();
  const provider = identityProvider(lying);
  const other = await makeKey("other");
  for (let attempt = 0; attempt < 5; attempt++) {
    await assert.rejects(
      logIn(provider, lying, undefined, { key: other, kid: `other-${attempt}` }),
      refused(/key/),
    );
  }
  assert.equal(lying.keySetReads, 2);
  const impatient = identityProvider(lying, { keyCooldownMs: 0 });
  await assert.rejects(logIn(impatient, lying, undefined, { key: other }), refused(/key/));
  await lying.rotate();
  assert.equal((await logIn(impatient, lying)).subject, "someone");
});

test("an identity provider whose keys cannot be read logs no one in, and again when they can", async () => {
  await using lying = await startLyingIdentityProvider();
  const provider = identityProvider(lying);
  lying.describe({ jwks_uri: undefined });
  await assert.rejects(logIn(provider, lying), refused(/cannot be used/, 503));
  lying.describe({});
  assert.equal((await logIn(provider, lying)).subject, "someone");
});

test("endpoints of the identity provider are https or on this machine", async () => {
  for (const field of ["authorization_endpoint", "token_endpoint", "jwks_uri"]) {
    await using lying = await startLyingIdentityProvider();
    lying.describe({ [field]: "http://idp.example.org/x" });
    const provider = identityProvider(lying);
    await assert.rejects(provider.begin(), refused(/cannot be used/, 503));
    assert.match(provider.problem ?? "", new RegExp(`${field}.*https`));
  }
});

test("an identity provider that is away is reported as such, and logins work when it is back", async () => {
  await using lying = await startLyingIdentityProvider();
  const provider = identityProvider(lying);
  await lying.goAway();
  await assert.rejects(provider.begin(), refused(/cannot be used at the moment/, 503));
  assert.match(provider.problem ?? "", /cannot be used/);
  await lying.comeBack();
  assert.equal((await logIn(provider, lying)).subject, "someone");
  assert.equal(provider.problem, undefined);
  const { secrets } = await provider.begin();
  await lying.goAway();
  await assert.rejects(
    provider.finish(`?code=c&state=${secrets.state}`, secrets),
    refused(/cannot be used at the moment/, 503),
  );
  await lying.comeBack();
  assert.equal((await logIn(provider, lying)).subject, "someone");
});

test("a proxy's error page in the place of an answer is not the person's fault", async () => {
  await using lying = await startLyingIdentityProvider();
  for (const path of ["/.well-known/openid-configuration", "/token", "/keys"]) {
    const provider = identityProvider(lying);
    lying.breakDown(path);
    await assert.rejects(logIn(provider, lying), refused(/cannot be used at the moment/, 503), path);
    lying.breakDown();
    assert.equal((await logIn(provider, lying)).subject, "someone");
  }
});

test("a backend that found no identity provider searches for it until it is there, without a login", async () => {
  await using lying = await startLyingIdentityProvider();
  const provider = identityProvider(lying);
  await lying.goAway();
  await provider.probe();
  assert.match(provider.problem ?? "", /cannot be used/);
  const stop = new AbortController();
  const waits: number[] = [];
  const clock = {
    ...systemClock,
    async sleep(delayMs: number): Promise<void> {
      waits.push(delayMs);
      if (waits.length === 3) await lying.comeBack();
    },
  };
  const patient = identityProvider(lying, {}, clock);
  await patient.probe({ signal: stop.signal });
  assert.equal(patient.problem, undefined);
  assert.ok(
    waits.length >= 3 && waits.every((delayMs) => delayMs >= 1_000 && delayMs <= 30_000),
    String(waits),
  );
});

test("a token of more than 8 KB logs in", async () => {
  await using lying = await startLyingIdentityProvider();
  const groups = Array.from({ length: 400 }, (_, index) => `team-${index}-with-a-long-name`);
  const claims = (given: JWTPayload): JWTPayload => ({
    ...given,
    groups,
    realm_access: { roles: groups },
  });
  assert.ok(JSON.stringify(claims({})).length > 16_384);
  assert.equal((await logIn(identityProvider(lying), lying, claims)).subject, "someone");
});
