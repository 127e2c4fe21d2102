/** Tests the way in for programs at an identity provider that lies: which access tokens and bodies count, and how refusals read. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type BindingResponse, crdNameOf } from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { createLogger, Secret } from "@klutch/telemetry";
import { Hono } from "hono";
import { exportSPKI, importJWK, type JWTPayload } from "jose";
import { defaultUserRules } from "../authorization/user-claims.ts";
import { UserError } from "../errors.ts";
import type { BindSession } from "../provisioning/bind.ts";
import {
  lyingClientId,
  makeKey,
  type Signing,
  startLyingIdentityProvider,
} from "../testing/lying-identity-provider.ts";
import { createAdmission } from "./admission.ts";
import { IdentityProvider } from "./identity-provider.ts";
import { addNoninteractiveRoute } from "./noninteractive-route.ts";

const lying = await startLyingIdentityProvider();
after(() => lying[Symbol.asyncDispose]());
const [impostor, forged] = [await makeKey("first"), await makeKey("forged")];
const publicKey = (await importJWK(lying.key.publicJwk, "RS256", { extractable: true })) as CryptoKey;
const publicText = new TextEncoder().encode(await exportSPKI(publicKey));
const lines: string[] = [];
const logger = createLogger({ name: "test", write: (line) => lines.push(line) });
const bound: { readonly session: BindSession; readonly apis: readonly string[] }[] = [];
const sample: BindingResponse = {
  kind: "BindingResponse",
  apiVersion: "klutch.anynines.com/v1alpha1",
  authentication: { oauth2CodeGrant: { sid: "ci", id: "x" } },
  kubeconfig: "a3ViZWNvbmZpZw==",
  requests: [],
};

/** Parts of the route that a test replaces. */
interface Change {
  readonly clients?: readonly string[];
  readonly failure?: Error;
  readonly admit?: () => boolean;
}

function appOf({ clients = ["tenant-a", "tenant-b"], failure, admit = () => true }: Change = {}): Hono {
  const identityProvider = new IdentityProvider(
    {
      issuer: lying.issuer,
      clientId: lyingClientId,
      clientSecret: new Secret("a-client-secret-that-is-long-enough-for-hs256"),
      callbackUrl: "http://127.0.0.1:1/callback",
      authorizeUrl: undefined,
      userRules: defaultUserRules,
      ci: { clients, scope: "klutch/bind", audiences: ["https://klutch.example.org"] },
    },
    systemClock,
  );
  const app = new Hono();
  addNoninteractiveRoute(app, {
    program: clients.length === 0 ? undefined : (token) => identityProvider.program(token),
    respond: async (session, apis) => {
      if (failure !== undefined) throw failure;
      bound.push({ session, apis: apis.map((api) => crdNameOf(api)) });
      return sample;
    },
    gate: { admit, addressOf: () => undefined },
    logger,
  });
  return app;
}
const app = appOf();

/** Claims of an access token as Cognito makes it: no audience, the client as its own subject. */
function cognito(): JWTPayload {
  const now = Math.floor(systemClock.now() / 1000);
  const client = "tenant-a";
  return {
    iss: lying.issuer,
    sub: client,
    client_id: client,
    token_use: "access",
    scope: "klutch/bind",
    auth_time: now,
    iat: now,
    exp: now + 300,
    version: 2,
  };
}

const databases = { group: "example.org", resource: "databases" };
const wish = { clusterID: "tenant-a", apis: [databases] };

async function post(
  token: string | undefined,
  body: unknown = wish,
  { path = "/bind-noninteractive", to = app }: { readonly path?: string; readonly to?: Hono } = {},
): Promise<{
  readonly status: number;
  readonly error: string;
  readonly advice: string;
  readonly headers: Headers;
}> {
  const response = await to.request(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const { error = "", advice = "" } = (await response.json()) as { error?: string; advice?: string };
  return { status: response.status, error, advice, headers: response.headers };
}

test("tokens as Cognito and as Keycloak make them act as their client, at each of the paths", async () => {
  const { client_id: client, token_use: _use, auth_time: _time, version: _version, ...common } = cognito();
  const keycloak: JWTPayload = {
    ...common,
    typ: "Bearer",
    azp: client,
    sub: "0e9a2c1c-77c5-4ab8-9d1e-6a0d0c3f6a55",
    aud: [lyingClientId, "account"],
    scope: "profile klutch/bind email",
    preferred_username: "service-account-tenant-a",
    groups: ["team-a"],
  };
  const rfc9068 = { ...common, client_id: client, aud: "https://klutch.example.org" };
  const tokens = [
    await lying.sign(cognito()),
    await lying.sign(keycloak, { typ: "JWT" }),
    await lying.sign(rfc9068, { typ: "at+jwt" }),
  ];
  bound.length = 0;
  for (const [index, token] of tokens.entries()) {
    const path = ["/bind-noninteractive", "/exports/bind-noninteractive", "/export/bind-noninteractive"][
      index
    ];
    assert.equal((await post(token, wish, { path: path ?? "" })).status, 200);
  }
  for (const { session, apis } of bound) {
    const { issuer, subject, client: by, user, clusterId, way } = session;
    assert.deepEqual([issuer, subject, by], [lying.issuer, "client:tenant-a", "tenant-a"]);
    assert.deepEqual(
      [user, clusterId, way, apis],
      ["oidc:client:tenant-a", "tenant-a", "ci", ["databases.example.org"]],
    );
  }
  assert.deepEqual(
    bound.map(({ session }) => session.groups),
    [[], ["oidc:team-a"], []],
  );
});

test("a scope of one tenant counts as the shared one", async () => {
  const own = "klutch/bind:7b2e5c1a-5b3a-4c39-9f7b-0b1c2d3e4f50";
  assert.equal((await post(await lying.sign({ ...cognito(), scope: own }))).status, 200);
});

const now = (): number => Math.floor(systemClock.now() / 1000);
const { client_id: _, ...anonymous } = cognito();
const { exp: _exp, ...endless } = cognito();
const lies: readonly (readonly [string, () => JWTPayload, RegExp, Signing?])[] = [
  [
    "another scope",
    () => ({ ...cognito(), scope: "openid klutch/bindings" }),
    /"scope" is "openid klutch\/bindings", without klutch\/bind/,
  ],
  ["a scope that begins like it", () => ({ ...cognito(), scope: "klutch/bind:all" }), /"scope"/],
  ["scopes as a list", () => ({ ...cognito(), scope: ["klutch/bind"] }), /"scope"/],
  ["no scope", () => ({ ...cognito(), scope: undefined }), /"scope" is missing/],
  [
    "another issuer",
    () => ({ ...cognito(), iss: "https://idp.example.org" }),
    /unexpected "iss" claim value/,
  ],
  ["an end in the past", () => ({ ...cognito(), exp: now() - 60 }), /it has expired/],
  ["no end", () => endless, /missing required "exp" claim/],
  ["a beginning in the future", () => ({ ...cognito(), nbf: now() + 600 }), /"nbf" claim/],
  [
    "a client that is not listed",
    () => ({ ...cognito(), client_id: "tenant-c" }),
    /"client_id" is "tenant-c", which is not among the clients/,
  ],
  ["no client", () => anonymous, /names no client/],
  ["two clients", () => ({ ...cognito(), azp: "tenant-b" }), /another claim names another client/],
  ["a list of clients", () => ({ ...cognito(), client_id: ["tenant-a"] }), /"client_id" is not a text/],
  ["token_use=id", () => ({ ...cognito(), token_use: "id" }), /"token_use" is "id", not access/],
  ["the type of Keycloak's ID tokens", () => ({ ...cognito(), typ: "ID" }), /"typ" is "ID", not Bearer/],
  ["the nonce of a login", () => ({ ...cognito(), nonce: "n" }), /no token of client credentials/],
  ["a person's name", () => ({ ...cognito(), username: "ann" }), /no token of client credentials/],
  [
    "an audience that is another service",
    () => ({ ...cognito(), aud: ["account", "shop"] }),
    /"aud" is \["account","shop"\], which does not name this backend/,
  ],
  ["the header of a logout token", cognito, /"typ" in the header/, { typ: "logout+jwt" }],
  ["no signature", cognito, /./, { unsigned: true }],
  [
    "a key that is not the issuer's, under its name",
    cognito,
    /signature verification failed/,
    { key: impostor },
  ],
  ["a key that the issuer does not have", cognito, /no applicable key found/, { key: forged }],
  ["the public key as a shared secret", cognito, /./, { hmac: publicText }],
];
for (const [what, claims, words, signing] of lies) {
  test(`a token with ${what} is refused with 401, and nothing is bound`, async () => {
    bound.length = 0;
    const answer = await post(await lying.sign(claims(), signing));
    assert.equal(answer.status, 401, answer.error);
    assert.match(answer.error, /^The access token is not accepted: /);
    assert.match(answer.error, words);
    assert.match(answer.advice, /client credentials/);
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
    assert.deepEqual(bound, []);
  });
}

test("a person's ID token of this very backend is no access token", async () => {
  const answer = await post(await lying.sign({ ...lying.claims("n"), azp: "tenant-a" }));
  assert.deepEqual(
    [answer.status, answer.error],
    [401, 'The access token is not accepted: "nonce" is there: it is no token of client credentials.'],
  );
});

test("a request without a token, or with words that are none, gets 401 and says what to send", async () => {
  for (const token of [undefined, "", "two words", "not.a.token"]) {
    const answer = await post(token);
    assert.equal(answer.status, 401, answer.error);
    assert.match(answer.advice, /access token/);
  }
});

const many = Array.from({ length: 101 }, (_value, index) => ({ ...databases, resource: `kind${index}` }));
const bodies: readonly (readonly [string, unknown, RegExp])[] = [
  ["no JSON", "{", /^The body is not JSON\.$/],
  ["nothing", "", /^The body is not JSON\.$/],
  ["a list", [wish], /^body: is not an object/],
  ["a blank clusterID", { ...wish, clusterID: " \t" }, /^clusterID: is blank, but must be 1 to 64 letters/],
  ["no clusterID", { apis: wish.apis }, /^clusterID: is missing/],
  ["a clusterID of another subject", { ...wish, clusterID: "ann#abc" }, /^clusterID: is "ann#abc", but must/],
  ["a long clusterID", { ...wish, clusterID: "x".repeat(65) }, /^clusterID: is "xxx/],
  ["a clusterID with markup", { ...wish, clusterID: "<b>\u001b[2J" }, /^clusterID: is "<b>/],
  ["no apis", { clusterID: "a", apis: [] }, /^apis: has 0 entries, but must have 1 to 100/],
  ["apis of another shape", { clusterID: "a", apis: { ...databases } }, /^apis: is not a list/],
  ["too many apis", { clusterID: "a", apis: many }, /^apis: has 101 entries/],
  [
    "an API without a resource",
    { clusterID: "a", apis: [{ group: "example.org" }] },
    /^apis\[0\]\.resource: is missing/,
  ],
  [
    "an API of Kubernetes",
    { clusterID: "a", apis: [databases, { group: "", resource: "secrets" }] },
    /^apis\[1\]: .*built into Kubernetes/,
  ],
  [
    "an API of Klutch",
    { clusterID: "a", apis: [{ group: "klutch.anynines.com", resource: "grants" }] },
    /belongs to Klutch/,
  ],
  [
    "a group that is a number",
    { clusterID: "a", apis: [{ group: 7, resource: "x" }] },
    /^apis\[0\]\.group: is not a text/,
  ],
];
for (const [what, body, words] of bodies) {
  test(`a body with ${what} is refused with 400, which names the field`, async () => {
    bound.length = 0;
    const answer = await post(await lying.sign(cognito()), body);
    assert.equal(answer.status, 400, answer.error);
    assert.match(answer.error, words);
    assert.ok(!answer.error.includes("\u001b"));
    assert.match(answer.advice, /"clusterID"/);
    assert.deepEqual(bound, []);
  });
}

test("unknown fields are passed over, and an API that is named twice is bound once, in the order asked", async () => {
  const queues = { ...databases, resource: "queues", comment: "x" };
  const body = { clusterID: "My_cluster.eu-1", apis: [queues, databases, queues], since: "v0.16.0" };
  bound.length = 0;
  assert.equal((await post(await lying.sign(cognito()), body)).status, 200);
  assert.deepEqual(bound[0]?.apis, ["queues.example.org", "databases.example.org"]);
  assert.deepEqual(
    [bound[0]?.session.clusterId, bound[0]?.session.clusterName],
    ["My_cluster.eu-1", "My_cluster.eu-1"],
  );
  await post(await lying.sign(cognito()), { ...body, clusterName: "CI\u001b[2J\nof team a" });
  assert.match(bound[1]?.session.clusterName ?? "", /^CI ?.*of team a$/);
  assert.ok(!/\p{Cc}/u.test(bound[1]?.session.clusterName ?? ""));
});

test("callers retry what passes and give up on what stays: the statuses say which it is", async () => {
  const token = await lying.sign(cognito());
  const cases: readonly (readonly [Error, number])[] = [
    [new UserError(404, "databases.example.org is not offered here.", "x"), 404],
    [new UserError(403, "oidc:client:tenant-a may not bind databases.example.org.", "x"), 403],
    [new UserError(409, "It is still being deleted.", "x", { passes: true }), 503],
    [new UserError(409, "It belongs to another owner.", "x"), 409],
    [new UserError(429, "You have bound 50 app clusters.", "x"), 403],
    [new UserError(503, "Rights cannot be checked now.", "x"), 503],
    [new TypeError("a secret that no one may read"), 500],
  ];
  for (const [failure, status] of cases) {
    const answer = await post(token, wish, { to: appOf({ failure }) });
    assert.equal(answer.status, status, failure.message);
    assert.equal(answer.error, failure instanceof UserError ? failure.message : "The backend failed.");
  }
});

test("without clients the way is closed: 404 says how it is opened, whatever the token is", async () => {
  const answer = await post(await lying.sign(cognito()), wish, { to: appOf({ clients: [] }) });
  assert.equal(answer.status, 404);
  assert.match(answer.error, /lets no program bind/);
  assert.match(answer.advice, /--ci-clients/);
});

test("a flood is held off with 429 before any token is looked at", async () => {
  const to = appOf({
    admit: (
      (admit) => () =>
        admit(undefined)
    )(createAdmission(systemClock)),
  });
  const answers = await Promise.all(Array.from({ length: 150 }, () => post("x.y.z", wish, { to })));
  const held = answers.filter(({ status }) => status === 429);
  // At most two seconds of it go on.
  assert.ok(held.length >= 50, String(held.length));
  assert.equal(held[0]?.headers.get("retry-after"), "2");
});

test("while the issuer's keys cannot be read the answer is 503, so that callers come back", async () => {
  const token = await lying.sign(cognito());
  lying.breakDown("/keys");
  const answer = await post(token, wish, { to: appOf() });
  assert.equal(answer.status, 503);
  assert.match(answer.error, /identity provider cannot be used/);
});

test("no line of the log holds a token or a claim beside the client's name", () => {
  assert.ok(lines.length > 30);
  assert.ok(lines.some((line) => line.includes("a program bound APIs")));
  for (const line of lines) assert.doesNotMatch(line, /eyJ|Bearer [^,]/);
});
