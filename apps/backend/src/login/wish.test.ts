import assert from "node:assert/strict";
import { after, test } from "node:test";
import { longestWish } from "@klutch/api";
import { Secret } from "@klutch/telemetry";
import { mostUserBytes } from "../authorization/sealed-user.ts";
import { createSealer } from "../sealed-cookie.ts";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { startIdentityProvider } from "../testing/identity-provider.ts";
import { startLoginFixture } from "../testing/login-fixture.ts";

const fixture = await startLoginFixture({
  issuer: startIdentityProvider,
  allowedRedirects: [`https://console.example.org/${"x".repeat(900)}`],
});
after(() => fixture[Symbol.asyncDispose]());

const go = (query: Readonly<Record<string, string>>): Promise<Landed> =>
  new TestBrowser().go(
    `${fixture.url}/authorize?${new URLSearchParams({ s: "s1", c: "c1", ...query }).toString()}`,
  );

for (const [m, words] of [
  ["", /m: is &quot;&quot;; it must be 1, all, service=&lt;service&gt; or apis=/],
  ["<script>", /m: is &quot;&lt;script&gt;&quot;/],
  ["apis=", /names the API &quot;&quot;/],
  ["apis=a.b,a.b", /names a\.b twice/],
  [
    `apis=${Array.from({ length: 51 }, (_, at) => `a${at}.b`).join(",")}`,
    /names 51 APIs; one login binds at most 50/,
  ],
  [
    `apis=${"a".repeat(200)},${"b".repeat(200)},${"c".repeat(200)},${"d".repeat(200)},${"e".repeat(200)}`,
    /room for 600/,
  ],
] as const) {
  test(`a wish that is none is refused before the login: ${m.slice(0, 30)}`, async () => {
    const page = await go({ p: "4321", m });
    assert.equal(page.status, 400);
    assert.match(page.html, words);
    assert.equal(page.headers.getSetCookie().length, 0);
  });
}

test("the longest wish with the longest names fits into both cookies, and one beside a long redirect URL is refused", async () => {
  const names = [1, 2, 3, 4, 5].map((at) => `${"a".repeat(at === 5 ? 118 : 117)}${at}`);
  const m = `apis=${names.join(",")}`;
  assert.equal(m.length, longestWish);
  const browser = new TestBrowser();
  // The browser of tests drops a cookie that is longer than 4 KiB, as others do.
  const query = new URLSearchParams({
    s: "s".repeat(64),
    c: "c".repeat(64),
    p: "4321",
    m,
    n: "漢".repeat(128),
  });
  const form = await browser.go(`${fixture.url}/authorize?${query.toString()}`);
  const page = await browser.submit(form, 'name="password"', { login: "u".repeat(200), password: "x" });
  assert.equal(page.status, 200, page.html);
  assert.equal(page.url.pathname, "/resources");
  const u = `https://console.example.org/${"x".repeat(900)}`;
  const refused = await go({ u, m });
  assert.equal(refused.status, 400);
  assert.match(refused.html, /m and the redirect URL have 1528 characters, and a login has room for 1024/);
  assert.equal((await go({ u, m: "1" })).status, 200);
});

test("a session with the longest wish and as many groups as a login keeps fits into 4 KiB", async () => {
  const keys = { signing: new Secret(Buffer.alloc(32, 7)), encryption: undefined };
  const key = "k".repeat(43);
  const redirectUrl = "http://localhost:65535/callback";
  const user = "u".repeat(100);
  const session = {
    redirectUrl,
    wish: "w".repeat(longestWish),
    sessionId: "s".repeat(64),
    clusterId: "c".repeat(64),
    clusterKey: "",
    proofId: "",
    answerKey: key,
    offeredKey: key,
    csrf: key,
    clusterName: "n".repeat(128),
    displayName: "d".repeat(128),
    verifiedEmail: user,
    issuer: "https://idp.example.org/realms/klutch",
    subject: user,
    user,
    groups: "g".repeat(mostUserBytes - user.length),
  };
  const sealed = await createSealer("session", keys).seal(session, 3600);
  const cookie = `__Host-klutch-bind-${session.sessionId}=${sealed}; Max-Age=3600; Path=/; HttpOnly; Secure; SameSite=Lax`;
  assert.ok(cookie.length <= 4_096, `${cookie.length} bytes`);
});
