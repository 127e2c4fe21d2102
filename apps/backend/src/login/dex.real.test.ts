import assert from "node:assert/strict";
import { after, test } from "node:test";
import { dexPassword, reservePorts } from "@klutch/engines";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { addressOf, prepareDex } from "../testing/dex.ts";
import { oidcClient, startLoginFixture } from "../testing/login-fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const reserved = stack.use(await reservePorts(2));
const [dexPort = 0, port = 0] = reserved.ports;
const callbackUrl = `http://127.0.0.1:${port}/callback`;
const { issuer, start: startDex } = await prepareDex(stack, dexPort, { ...oidcClient, callbackUrl });
const first = await startDex();
const fixture = stack.use(await startLoginFixture({ issuer, port }));

async function logIn(browser = new TestBrowser(), stopAt?: string): Promise<Landed> {
  const form = await browser.go(`${fixture.url}/authorize?s=session1&c=abc123&p=4321`);
  const values = { login: addressOf("developer"), password: dexPassword };
  return browser.submit(form, 'name="password"', values, stopAt);
}

test("a login at a real Dex leads to the page", async () => {
  const page = await logIn();
  assert.equal(page.url.pathname, "/resources");
  assert.equal(page.status, 200);
  assert.match(page.html, /developer@example\.com/);
});

test("while Dex is away a login says so; when it is back, with other keys, logins work again", async () => {
  const browser = new TestBrowser();
  const back = await logIn(browser, `${fixture.url}/callback`);
  await first.stop();
  const away = await browser.go(back.url.href);
  assert.equal(away.status, 503);
  assert.match(away.html, /cannot be used at the moment/);
  // Its metadata are requested again, so the next login finds out before the browser is sent there.
  assert.equal((await browser.go(`${fixture.url}/authorize?s=s&c=c&p=1`)).status, 503);
  const second = await startDex();
  assert.equal((await logIn()).status, 200);
  // Away and back between two logins: the backend sees only an unknown key.
  await second.stop();
  await startDex();
  assert.equal((await logIn()).status, 200);
});
