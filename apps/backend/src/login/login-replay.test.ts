import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { makeKey, startLyingIdentityProvider } from "../testing/lying-identity-provider.ts";
import { startLoginFixture } from "../testing/login-fixture.ts";

// An identity provider that takes each code as often as it is shown, so that only the backend itself can refuse the second time.
const lying = await startLyingIdentityProvider();
after(() => lying[Symbol.asyncDispose]());

/** Starts a login and has the identity provider answer it; gives back the callback's URL, which is not called yet. */
async function begun(browser: TestBrowser, backend: string, session = "session1"): Promise<string> {
  const { url } = await browser.go(`${backend}/authorize?s=${session}&c=abc&p=4321`, {}, lying.issuer);
  await lying.answerWith(lying.claims(url.searchParams.get("nonce") ?? ""));
  return `${backend}/callback?code=c&state=${url.searchParams.get("state") ?? ""}`;
}

test("a kept login cookie opens one session only, even when the identity provider takes the code again", async () => {
  await using fixture = await startLoginFixture({ issuer: lying.issuer });
  const browser = new TestBrowser();
  const callback = await begun(browser, fixture.url);
  const host = new URL(fixture.url).host;
  const kept = new Map(browser.cookies.get(host));
  assert.equal((await browser.go(callback)).url.pathname, "/resources");
  const exchanges = lying.exchanges;
  for (const code of ["c", "fresh"]) {
    browser.cookies.set(host, new Map(kept));
    const again = await browser.go(callback.replace("code=c", `code=${code}`));
    assert.equal(again.status, 400);
    assert.match(again.html, /already used/);
  }
  assert.equal(lying.exchanges, exchanges, "the code was shown to the identity provider again");
});

test("an ID token that another key signed opens no session and leaves no cookie", async () => {
  await using fixture = await startLoginFixture({ issuer: lying.issuer });
  const browser = new TestBrowser();
  const { url } = await browser.go(`${fixture.url}/authorize?s=session1&c=abc&p=4321`, {}, lying.issuer);
  const claims = { ...lying.claims(url.searchParams.get("nonce") ?? ""), sub: "admin" };
  await lying.answerWith(claims, { key: await makeKey("other"), kid: "first" });
  const page = await browser.go(
    `${fixture.url}/callback?code=c&state=${url.searchParams.get("state") ?? ""}`,
  );
  assert.equal(page.status, 401);
  assert.match(page.html, /could not be verified/);
  assert.deepEqual([...(browser.cookies.get(new URL(fixture.url).host) ?? [])], []);
  assert.equal((await browser.go(`${fixture.url}/resources?s=session1`)).status, 401);
});

test("of two callbacks with one cookie at the same time only one opens a session", async () => {
  await using fixture = await startLoginFixture({ issuer: lying.issuer });
  const browser = new TestBrowser();
  const callback = await begun(browser, fixture.url);
  const host = new URL(fixture.url).host;
  const twin = new TestBrowser();
  twin.cookies.set(host, new Map(browser.cookies.get(host)));
  const pages = await Promise.all([browser.go(callback), twin.go(callback)]);
  assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([200, 400]));
});

test("a login that the identity provider did not answer can be tried again with a new one, not with the old cookie", async () => {
  await using fixture = await startLoginFixture({ issuer: lying.issuer });
  const browser = new TestBrowser();
  const callback = await begun(browser, fixture.url);
  await lying.goAway();
  const failed = await browser.go(callback);
  await lying.comeBack();
  assert.equal(failed.status, 503);
  assert.equal((await browser.go(callback)).status, 400);
  assert.equal((await browser.go(await begun(browser, fixture.url))).status, 200);
});

test("many logins in one browser stay within what a request's header may hold", async () => {
  await using fixture = await startLoginFixture({ issuer: lying.issuer });
  const browser = new TestBrowser();
  const redirect = encodeURIComponent(`http://localhost:1/${"x".repeat(900)}`);
  let page: Landed | undefined;
  for (let login = 0; login < 12; login++) {
    const authorize = `${fixture.url}/authorize?s=session${login}&c=abc&u=${redirect}`;
    const { url } = await browser.go(authorize, {}, lying.issuer);
    const claims = { ...lying.claims(url.searchParams.get("nonce") ?? ""), sub: "s".repeat(255) };
    await lying.answerWith(claims);
    page = await browser.go(`${fixture.url}/callback?code=c&state=${url.searchParams.get("state") ?? ""}`);
    assert.equal(page.status, 200, `login ${login}`);
  }
  const sent = [...(browser.cookies.get(new URL(fixture.url).host) ?? [])];
  const bytes = sent.reduce((sum, [name, value]) => sum + name.length + value.length + 3, 0);
  assert.ok(bytes < 12_000, `${sent.length} cookies, ${bytes} bytes`);
  for (const [name, value] of sent) assert.ok(name.length + value.length < 4_000, `${name}: ${value.length}`);
});
