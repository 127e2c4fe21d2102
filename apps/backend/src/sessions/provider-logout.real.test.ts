/** A person logs out at a certified identity provider, which tells the real backend: RP-initiated and back-channel logout, with two replicas. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { newAnswerKey, openSession, openSessionOffer, sessionUrls } from "@klutch/api";
import { waitFor } from "@klutch/kube-testing";
import { TestBrowser } from "../testing/browser.ts";
import { oidcClient } from "../testing/login-fixture.ts";
import { prepareReplicas } from "../testing/replicas.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, issuer, service, start } = await prepareReplicas(stack, "provider-logout");
const flags = ["--bind-authorization=everyone"];
const [first, second] = await Promise.all([start("one", ...flags), start("two", ...flags)]);
service.route(first.url);
const key = await newAnswerKey();

async function send(
  url: string,
  session?: string,
  body?: object,
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  const headers = {
    "content-type": "application/json",
    ...(session === undefined ? {} : { authorization: `Bearer ${session}` }),
  };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(url, init);
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

async function logIn(browser: TestBrowser, person: string): Promise<string> {
  const query = new URLSearchParams({ t: "session", p: "4321", s: "login1", ek: key.publicKey });
  const plugin = "http://localhost:4321";
  const page = await browser.go(`${service.url}/authorize?${query.toString()}`, {}, plugin);
  const back = page.url.href.startsWith(plugin)
    ? page
    : await browser.submit(page, 'name="password"', { login: person, password: "x" }, plugin);
  const offer = await openSessionOffer(key, back.url.searchParams.get("offer") ?? "");
  const { body } = await send(`${second.url}/session`, undefined, { ticket: offer.ticket });
  const { session, subject } = await openSession(key, String(body["answer"]));
  assert.equal(subject, person);
  return session;
}

const statusOf = async (url: string, session: string): Promise<number> =>
  (await send(sessionUrls(`${url}/session`).templates, session)).status;

test("klutch logout names the provider's page, and who logs out there loses all sessions, and no one else does", async () => {
  const [anns, bobs] = [new TestBrowser(), new TestBrowser()];
  const one = await logIn(anns, "ann");
  // The provider knows the browser, and asks for no password.
  const other = await logIn(anns, "ann");
  const third = await logIn(anns, "ann");
  const ofBob = await logIn(bobs, "bob");
  const { status, body } = await send(sessionUrls(`${first.url}/session`).logout, one, {});
  assert.equal(status, 200);
  const page = new URL(String(body["endSessionUrl"]));
  assert.equal(page.origin, issuer);
  assert.deepEqual([...page.searchParams], [["client_id", oidcClient.id]], "neither a token nor a redirect");
  assert.equal(await statusOf(first.url, other), 200);
  const question = await anns.go(page.href);
  await anns.submit(question, 'name="xsrf"', { logout: "yes" });
  for (const { url } of [first, second]) {
    for (const session of [one, other, third])
      await waitFor("the end of the sessions", async () => (await statusOf(url, session)) === 401);
    assert.equal(await statusOf(url, ofBob), 200);
  }
  const log = await readFile(join(cluster.dataDir, "one.log"), "utf8");
  assert.match(log, /"decision":"logout","allowed":true,"reason":"LoggedOutAtProvider"/);
});

test("a login after the logout gives a session that counts", async () => {
  const session = await logIn(new TestBrowser(), "ann");
  assert.equal(await statusOf(second.url, session), 200);
});
