import assert from "node:assert/strict";
import { request } from "node:http";
import { type TestContext, test } from "node:test";
import { type BindingResponse, encodeBindingResponse } from "@klutch/api";
import { type CallbackServer, startCallbackServer } from "./callback-server.ts";
import { login, loginUrlOf, newSessionId, responseReader } from "./login.ts";
import type { ProviderDescription } from "./provider.ts";
import * as answers from "../testing/binding-response.ts";
import { scriptedRun } from "../testing/script.ts";

const provider: ProviderDescription = {
  url: "http://provider.test/export",
  prettyName: "Example",
  version: "v1.0.0",
  loginUrl: new URL("http://provider.test/authorize?keep=1"),
  controlPlaneId: undefined,
};

/** The person's id has characters that a careless encoding of base64 would lose. */
const responseFor = (sid: string): BindingResponse => answers.responseFor(sid, "issuer/subject?~>");

async function server(t: TestContext, sessionId = "session"): Promise<CallbackServer<BindingResponse>> {
  const callback = await startCallbackServer(responseReader(sessionId));
  t.after(() => callback[Symbol.asyncDispose]());
  return callback;
}

function call(port: number, response: string, host = "localhost"): Promise<Response> {
  const query = new URLSearchParams({ response }).toString();
  return fetch(`http://${host}:${port}/callback?${query}`, { redirect: "manual" });
}

test("a response is understood in both base64 alphabets", async (t) => {
  const text = encodeBindingResponse(responseFor("session"));
  const urlSafe = text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  assert.notEqual(urlSafe, text.replaceAll("=", ""));
  for (const encoded of [text, urlSafe]) {
    const callback = await server(t);
    assert.equal((await call(callback.port, encoded)).status, 303);
    assert.deepEqual(await callback.answer, responseFor("session"));
  }
});

test("the browser is sent on at once, so the credentials stay neither in the address bar nor in a cache", async (t) => {
  const callback = await server(t);
  const answer = await call(callback.port, encodeBindingResponse(responseFor("session")));
  assert.equal(answer.headers.get("location"), "/done");
  assert.equal(answer.headers.get("cache-control"), "no-store");
  assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
  const page = await fetch(`http://localhost:${callback.port}/done`);
  assert.match(await page.text(), /Go on in the terminal/);
  await callback.pageServed;
});

test("an answer of another session is refused, and the right one is still taken after it", async (t) => {
  const callback = await server(t);
  for (const foreign of [encodeBindingResponse(responseFor("guess")), "!!", "e30=", ""]) {
    assert.equal((await call(callback.port, foreign)).status, 400, foreign);
  }
  assert.match(callback.lastProblem() ?? "", /no response/);
  assert.equal((await call(callback.port, encodeBindingResponse(responseFor("session")))).status, 303);
  assert.equal((await callback.answer).authentication.oauth2CodeGrant.sid, "session");
});

test("exactly one answer is accepted", async (t) => {
  const callback = await server(t);
  const encoded = encodeBindingResponse(responseFor("session"));
  assert.equal((await call(callback.port, encoded)).status, 303);
  assert.equal((await call(callback.port, encoded)).status, 409);
});

test("an answer of this session that is malformed ends the waiting with the field's name", async (t) => {
  const callback = await server(t);
  const broken = { ...responseFor("session"), requests: [] };
  assert.equal((await call(callback.port, encodeBindingResponse(broken))).status, 400);
  await assert.rejects(callback.answer, { code: "Login", message: /requests: is empty/ });
});

test("other paths, methods and host names get nothing", async (t) => {
  const { port } = await server(t);
  assert.equal((await fetch(`http://localhost:${port}/done`)).status, 404);
  assert.equal((await fetch(`http://localhost:${port}/callback`, { method: "POST" })).status, 405);
  const status = await new Promise((resolve, reject) => {
    request({ port, path: "/callback", headers: { host: `evil.test:${port}` } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
  assert.equal(status, 403);
});

test("the login address carries port, session and cluster, and keeps the provider's own query", () => {
  const url = loginUrlOf(provider, { port: 4711, sessionId: "sid", clusterId: "cid" });
  assert.equal(url, "http://provider.test/authorize?keep=1&p=4711&s=sid&c=cid");
});

test("the login address carries the name of the cluster, whatever is in it", () => {
  const query = { port: 4711, sessionId: "sid", clusterId: "cid", clusterName: "prod & eu/1#ü" };
  const url = new URL(loginUrlOf(provider, query));
  assert.equal(url.searchParams.get("n"), "prod & eu/1#ü");
  assert.equal(url.searchParams.get("c"), "cid");
});

test("the login address carries the wish for a provider that binds several APIs", () => {
  for (const [wish, text] of [
    [{ kind: "none" }, "1"],
    [{ kind: "service", service: "postgresql" }, "service=postgresql"],
    [{ kind: "apis", names: ["a.b.c", "d"] }, "apis=a.b.c,d"],
  ] as const) {
    const url = new URL(loginUrlOf(provider, { port: 4711, sessionId: "sid", clusterId: "cid", wish }));
    assert.equal(url.searchParams.get("m"), text);
  }
});

test("session ids hold 128 random bits in characters that every base64 alphabet leaves alone", () => {
  const ids = new Set(Array.from({ length: 1000 }, newSessionId));
  assert.equal(ids.size, 1000);
  for (const id of ids) assert.match(id, /^[0-9a-zA-Z]{22}$/);
});

test("a login that is not completed ends in time, saying what the last answer lacked", async () => {
  const run = scriptedRun({
    browser(url) {
      const port = Number(new URL(url).searchParams.get("p"));
      void call(port, encodeBindingResponse(responseFor("guess")));
    },
  });
  const options = { clusterId: "cid", timeoutMs: 500, browser: true };
  await assert.rejects(login(run.context, provider, options), {
    code: "Timeout",
    message: /within 1 s.*--timeout.*another session id/,
  });
});

test("Ctrl-C ends the wait for the login", async () => {
  const controller = new AbortController();
  const run = scriptedRun({
    signal: controller.signal,
    browser: () => controller.abort(new Error("Interrupted.")),
  });
  const options = { clusterId: "cid", timeoutMs: 60_000, browser: true };
  await assert.rejects(login(run.context, provider, options), /Interrupted/);
});
