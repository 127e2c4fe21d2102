import assert from "node:assert/strict";
import { get } from "node:http";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { createLogger, Secret } from "@klutch/telemetry";
import { UserError } from "../errors.ts";
import { createSealer } from "../sealed-cookie.ts";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { startIdentityProvider } from "../testing/identity-provider.ts";
import { type LoginFixture, sampleResponse, startLoginFixture } from "../testing/login-fixture.ts";

const lines: string[] = [];
const logger = createLogger({ name: "test", write: (line) => lines.push(line) });
const fixture = await startLoginFixture({
  issuer: startIdentityProvider,
  logger,
  allowedRedirects: ["https://console.example.org/bound"],
});
after(() => fixture[Symbol.asyncDispose]());

const authorize = (query: string, of: LoginFixture = fixture): string => `${of.url}/authorize?${query}`;
const started = "s=session1&c=abc123&p=4321";

/** Logs in at the identity provider, up to where `stopAt` begins. */
async function logIn(browser: TestBrowser, query = started, stopAt?: string): Promise<Landed> {
  let page = await browser.go(authorize(query), {}, stopAt);
  if (page.html.includes('name="password"')) {
    page = await browser.submit(page, 'name="password"', { login: "someone", password: "x" }, stopAt);
  }
  return page;
}

test("a login, a choice, and the answer arrives at the plugin intact", async () => {
  const browser = new TestBrowser();
  const page = await logIn(browser);
  assert.equal(page.url.pathname, "/resources");
  assert.match(page.html, /Bind Database/);
  assert.match(
    page.html,
    /place secrets whose fields match type=Opaque or metadata\.labels\.credentials=true in your namespaces \(required\)/,
  );
  const answer = await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
  assert.equal(answer.status, 303);
  assert.equal(answer.url.pathname, "/callback");
  assert.equal(answer.url.searchParams.get("response"), sampleResponse);
  const last = fixture.bound.at(-1);
  assert.deepEqual(
    [last?.resource, last?.group, last?.session.subject],
    ["databases", "example.org", "someone"],
  );
  assert.equal(last?.session.issuer, fixture.issuer);
  assert.equal(last?.session.clusterId, "abc123");
});

test("the name of the app cluster and of the person arrive at the bind, and the page shows both as text", async () => {
  const browser = new TestBrowser();
  const name = encodeURIComponent('prod-eu <b>"\u001b[2J');
  const page = await logIn(browser, `${started}&n=${name}`);
  assert.match(page.html, /prod-eu &lt;b&gt;&quot; \[2J/);
  assert.match(page.html, /someone@example\.org/);
  await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
  const { clusterName, displayName, subject } = fixture.bound.at(-1)?.session ?? {};
  assert.deepEqual(
    [clusterName, displayName, subject],
    ['prod-eu <b>" [2J', "someone@example.org", "someone"],
  );
});

test("an existing plugin sends no name, and one of 10 kB is cut: both log in", async () => {
  for (const [query, length] of [
    [started, undefined],
    [`${started}&n=`, undefined],
    [`${started}&n=%0a%1b&n=second`, undefined],
    [`${started}&n=${"%F0%9F%8E%89".repeat(1_000)}`, 128],
  ] as const) {
    const browser = new TestBrowser();
    const page = await logIn(browser, query);
    assert.equal(page.status, 200, query.slice(0, 60));
    await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
    assert.equal(fixture.bound.at(-1)?.session.clusterName?.length, length);
  }
});

test("a login that a replica of the previous release began is finished without names", async () => {
  const keys = { signing: new Secret(Buffer.alloc(32, 7)), encryption: undefined };
  const fields = { redirectUrl: "http://localhost:1/callback", clusterId: "abc123", clusterKey: "" };
  const person = { issuer: fixture.issuer, subject: "someone", csrf: "x", sessionId: "old" };
  const sealed = await createSealer("session", keys).seal({ ...fields, ...person }, 60);
  const headers = { cookie: `klutch-bind-old=${sealed}` };
  const page = await fetch(`${fixture.url}/resources?s=old`, { headers });
  assert.equal(page.status, 200);
  assert.match(await page.text(), /Bind Database/);
});

for (const target of [
  "https://evil.example.com/",
  "http://localhost.evil.example.com/cb",
  "http://user@localhost:1/",
  "https://localhost:1/",
  "javascript:alert(1)",
  "https://console.example.org/bound/other",
]) {
  test(`a redirect to ${target} is refused before anything else happens`, async () => {
    const browser = new TestBrowser();
    const page = await browser.go(authorize(`s=x&c=y&u=${encodeURIComponent(target)}`));
    assert.equal(page.status, 400);
    assert.equal(page.url.host, new URL(fixture.url).host);
    assert.match(page.html, /cannot be started/);
    assert.equal(page.headers.getSetCookie().length, 0);
  });
}

test("an exactly listed redirect and every loopback form are accepted", async () => {
  for (const target of [
    "https://console.example.org/bound",
    "http://127.0.0.1:99/cb",
    "http://[::1]:99/cb",
  ]) {
    const page = await new TestBrowser().go(
      authorize(`s=x&c=y&u=${encodeURIComponent(target)}`),
      {},
      fixture.issuer,
    );
    assert.equal(page.status, 302, target);
  }
});

test("a missing or malformed parameter is named", async () => {
  for (const [query, words] of [
    ["c=abc&p=1", /session id/],
    ["s=abc&p=1", /cluster id/],
    ["s=abc&c=abc", /neither p/],
    ["s=abc&c=abc&p=70000", /not a port/],
    ["s=%3Cscript%3E&c=abc&p=1", /session id/],
  ] as const) {
    const page = await new TestBrowser().go(authorize(query));
    assert.equal(page.status, 400);
    assert.match(page.html, words);
  }
});

const callback = `${fixture.url}/callback`;

test("a tampered state is refused, and the login is used up", async () => {
  const browser = new TestBrowser();
  const back = await logIn(browser, started, callback);
  const genuine = back.url.href;
  const forged = new URL(genuine);
  forged.searchParams.set("state", "forged");
  const refused = await browser.go(forged.href);
  assert.equal(refused.status, 400);
  assert.match(refused.html, /does not belong to this login/);
  assert.equal((await browser.go(genuine)).status, 400);
});

test("a callback that is played again is refused, also with the cookie it had", async () => {
  const browser = new TestBrowser();
  const back = await logIn(browser, started, callback);
  const host = new URL(fixture.url).host;
  const kept = new Map(browser.cookies.get(host));
  assert.equal((await browser.go(back.url.href)).status, 200);
  const again = await browser.go(back.url.href);
  assert.equal(again.status, 400);
  assert.match(again.html, /already used/);
  browser.cookies.set(host, kept);
  const withCookie = await browser.go(back.url.href);
  assert.equal(withCookie.status, 400);
  assert.match(withCookie.html, /already used/);
});

test("a callback that is played again on another replica is refused by the identity provider", async () => {
  const browser = new TestBrowser();
  const back = await logIn(browser, started, callback);
  const kept = [...(browser.cookies.get(new URL(fixture.url).host) ?? [])];
  assert.equal((await browser.go(back.url.href)).status, 200);
  const cookie = kept.map(([name, value]) => `${name}=${value}`).join("; ");
  const again = await fixture.otherReplica(new Request(back.url.href, { headers: { cookie } }));
  assert.equal(again.status, 401);
  assert.match(await again.text(), /invalid_grant/);
});

test("a callback in another browser is refused", async () => {
  const back = await logIn(new TestBrowser(), started, callback);
  const page = await new TestBrowser().go(back.url.href);
  assert.equal(page.status, 400);
  assert.match(page.html, /not started in this browser/);
});

test("what the identity provider says against a login is shown", async () => {
  const browser = new TestBrowser();
  const toProvider = await browser.go(authorize(started), {}, fixture.issuer);
  const state = toProvider.url.searchParams.get("state") ?? "";
  const query = new URLSearchParams({
    error: "access_denied",
    error_description: "not for you",
    state,
    iss: fixture.issuer,
  });
  const page = await browser.go(`${callback}?${query.toString()}`);
  assert.equal(page.status, 401);
  assert.match(page.html, /access_denied: not for you/);
});

test("the login asks for PKCE, state and nonce", async () => {
  const { url } = await new TestBrowser().go(authorize(started), {}, fixture.issuer);
  assert.equal(url.searchParams.get("code_challenge_method"), "S256");
  for (const name of ["code_challenge", "state", "nonce"])
    assert.ok((url.searchParams.get(name) ?? "").length >= 43, name);
});

test("a wrong issuer is one clear message, and the reason stays with the operator", async () => {
  await using wrong = await startLoginFixture({ issuer: `${fixture.issuer}/elsewhere` });
  const page = await new TestBrowser().go(authorize(started, wrong));
  assert.equal(page.status, 503);
  assert.match(page.html, /identity provider cannot be used/);
});

test("a person who may not bind is told so, and whom to ask, before any API is shown", async () => {
  const admit = ({ subject }: { readonly subject: string }): void => {
    if (subject === "someone") throw new UserError(403, "Revoked <b>here</b>.", "Ask the operator of Tests.");
  };
  await using shut = await startLoginFixture({ issuer: startIdentityProvider, admit });
  const browser = new TestBrowser();
  let page = await browser.go(authorize(started, shut));
  page = await browser.submit(page, 'name="password"', { login: "someone", password: "x" });
  assert.equal(page.status, 403);
  assert.match(page.html, /Revoked &lt;b&gt;here&lt;\/b&gt;\..*Ask the operator of Tests\./s);
  assert.doesNotMatch(page.html, /Database/);
});

test("without a login there is no page and nothing can be bound", async () => {
  const before = fixture.bound.length;
  const browser = new TestBrowser();
  assert.equal((await browser.go(`${fixture.url}/resources?s=session1`)).status, 401);
  assert.equal(
    (await browser.go(`${fixture.url}/bind?s=session1&resource=databases&group=example.org`)).status,
    401,
  );
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = "s=session1&resource=databases&group=example.org&csrf=x";
  assert.equal((await browser.go(`${fixture.url}/bind`, { method: "POST", body, headers })).status, 401);
  assert.equal(fixture.bound.length, before);
});

test("a form without the session's token and a link from another site bind nothing", async () => {
  const browser = new TestBrowser();
  const page = await logIn(browser);
  const before = fixture.bound.length;
  const forged = await browser.submit(page, 'value="databases"', { csrf: "guess" });
  assert.equal(forged.status, 403);
  const link = `${fixture.url}/bind?s=session1&resource=databases&group=example.org`;
  const foreign = await browser.go(link, { headers: { "sec-fetch-site": "cross-site" } });
  assert.equal(foreign.status, 403);
  assert.equal(fixture.bound.length, before);
  const own = await browser.go(link, { headers: { "sec-fetch-site": "same-origin" } });
  assert.equal(own.status, 200);
  assert.equal(fixture.bound.length, before);
  const chosen = await browser.submit(own, 'value="databases"', {}, "http://localhost:4321");
  assert.equal(chosen.status, 303);
});

test("a session of one login does not open another's page", async () => {
  const browser = new TestBrowser();
  await logIn(browser);
  const host = new URL(fixture.url).host;
  const jar = browser.cookies.get(host);
  jar?.set("klutch-bind-other", jar.get("klutch-bind-session1") ?? "");
  assert.equal((await browser.go(`${fixture.url}/resources?s=other`)).status, 401);
});

test("cookies are HttpOnly, Lax, short-lived, small and unreadable", async () => {
  const response = await fetch(authorize(started), { redirect: "manual" });
  const [cookie = ""] = response.headers.getSetCookie();
  assert.match(cookie, /; HttpOnly/i);
  assert.match(cookie, /; SameSite=Lax/i);
  assert.match(cookie, /Max-Age=600/i);
  assert.ok(cookie.length < 1500, `${cookie.length} bytes`);
  assert.ok(!Buffer.from(cookie, "base64").toString("latin1").includes("session1"));
});

test("pages forbid scripts, frames, sniffing and caching, and name no other host", async () => {
  const page = await logIn(new TestBrowser());
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /script-src|unsafe/);
  assert.equal(page.headers.get("x-content-type-options"), "nosniff");
  assert.match(page.headers.get("cache-control") ?? "", /no-store/);
  assert.doesNotMatch(page.html, /https?:\/\/(?!127\.0\.0\.1)/);
});

test("GET /export describes the login, on this machine at the host that was asked", async () => {
  const response = await fetch(`${fixture.url}/export`);
  assert.deepEqual(await response.json(), {
    kind: "BindingProvider",
    apiVersion: "v1alpha1",
    providerPrettyName: "Test Provider",
    version: "v1.6.0",
    authenticationMethods: [
      { method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL: `${fixture.url}/authorize` } },
    ],
    confirmUrl: `${fixture.url}/confirm`,
    severalApis: true,
    controlPlaneId: "TheControlPlane",
  });
});

test("a Host that is not this machine is not believed: the login is beside the callback", async () => {
  const { port } = new URL(fixture.url);
  const named = async (host: string): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>();
    get(
      { port, host: "127.0.0.1", path: "/export", headers: { host, accept: "application/json" } },
      (answer) => resolve(text(answer)),
    );
    return promise;
  };
  for (const host of ["evil.example", "localhost.evil.example", `evil.example:${port}`])
    assert.match(await named(host), new RegExp(`"authenticatedURL":"${fixture.url}/authorize"`), host);
  assert.match(await named("localhost:9"), /"authenticatedURL":"http:\/\/localhost:9\/authorize"/);
});

test("a session cannot have the name of the cookie of logins", async () => {
  const page = await new TestBrowser().go(authorize("s=login&c=abc&p=1"));
  assert.equal(page.status, 400);
  assert.match(page.html, /session id/);
});

test("a body of 10 MB is refused as too large, and that is no error of the backend", async () => {
  const before = lines.length;
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const sized = await fetch(`${fixture.url}/bind`, { method: "POST", body: "s".repeat(10e6), headers });
  assert.equal(sized.status, 413);
  const chunks = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
  });
  const endless = await fetch(`${fixture.url}/bind`, {
    method: "POST",
    body: chunks,
    duplex: "half",
    headers,
  }).catch(() => undefined);
  assert.ok(endless === undefined || endless.status === 413);
  assert.doesNotMatch(lines.slice(before).join(""), /request failed/);
});

test("the identity provider's words are one short line", async () => {
  const browser = new TestBrowser();
  const toProvider = await browser.go(authorize(started), {}, fixture.issuer);
  const state = toProvider.url.searchParams.get("state") ?? "";
  const words = `call\u202e +49 123\n\n${"and pay ".repeat(1_000)}`;
  const query = new URLSearchParams({
    error: "access_denied",
    error_description: words,
    state,
    iss: fixture.issuer,
  });
  const page = await browser.go(`${callback}?${query.toString()}`);
  assert.equal(page.status, 401);
  assert.doesNotMatch(page.html, /\u202e/);
  assert.ok(page.html.length < 3_000, `${page.html.length}`);
});

test("a browser gets a page with the command at / and /export, and a plugin the description whatever it accepts", async () => {
  const ask = async (path: string, accept?: string): Promise<readonly [string, string]> => {
    const response = await fetch(
      `${fixture.url}${path}`,
      accept === undefined ? {} : { headers: { accept } },
    );
    return [response.headers.get("content-type") ?? "", await response.text()];
  };
  const browsers = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  for (const path of ["/", "/export", "/export/"]) {
    const [type, text] = await ask(path, browsers);
    assert.match(type, /^text\/html/);
    assert.ok(text.includes(`kubectl bind ${fixture.url}/export<`), text);
  }
  for (const accept of [
    undefined,
    "*/*",
    "application/json",
    "application/json, text/html;q=0.5",
    "text/plain",
  ])
    assert.match((await ask("/export", accept))[0], /^application\/json/, accept ?? "none");
});

test("no state, code, token or cookie is ever logged", () => {
  const text = lines.join("");
  assert.ok(lines.length > 5);
  assert.deepEqual(/.{60}(?:[?&](?:code|state)=|eyJ|klutch-bind-session1=).{30}/.exec(text)?.[0], undefined);
});
