/** The plugin's side of a login that is confirmed, with a scripted person and a provider that lies. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import {
  type BindingResponse,
  confirmationText,
  encodeBindingResponse,
  type LoginOffer,
  newAnswerKey,
  newClusterKey,
  publicKeyOf,
  sealBinding,
  sealOffer,
  signText,
  verifyText,
} from "@klutch/api";
import { isRecord } from "@klutch/kube-core";
import { systemClock } from "@klutch/kube";
import { responseFor } from "../testing/binding-response.ts";
import { type ScriptedRun, scriptedRun } from "../testing/script.ts";
import { confirmedLogin, type ConfirmingProvider } from "./confirm.ts";

const pem = newClusterKey();
const signer = { publicKey: publicKeyOf(pem) ?? "", sign: (words: string) => signText(pem, words) };
const redirect = (port: string): string => `http://localhost:${port}/callback`;

/** Answers of the provider, right unless a test changes them. */
interface Lies {
  offerFor?: (offer: LoginOffer, answerKey: string) => string | Promise<string>;
  bindingFor?: (response: BindingResponse, answerKey: string) => Promise<string>;
  /** Query of the redirect in place of the offer. */
  query?: (sessionId: string) => string;
  busy: number;
  refusal?: { status: number; body: string };
}
const lies: Lies = { busy: 0 };
/** Requests that came to the provider, and whether the last confirmation was signed for exactly this login. */
const seen = { challenges: 0, confirmations: 0, verified: false };
const waiting = new Map<string, { login: Parameters<typeof confirmationText>[0]; answerKey: string }>();

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", base);
  if (pathname === "/authorize") {
    const [sessionId, answerKey, port, clusterId] = ["s", "ek", "p", "c"].map(
      (name) => searchParams.get(name) ?? "",
    );
    const person = { issuer: "https://idp", subject: "jane" };
    const nonce = `nonce-of-${sessionId}`;
    const login = {
      url: `${base}/confirm`,
      challenge: "a-challenge",
      sessionId: sessionId ?? "",
      clusterId: clusterId ?? "",
      redirectUrl: redirect(port ?? ""),
      answerKey: answerKey ?? "",
      ...person,
      nonce,
    };
    waiting.set("ticket", { login, answerKey: answerKey ?? "" });
    const tenant = { name: "cluster-one", relation: "joins" as const };
    const offer = {
      sessionId: sessionId ?? "",
      ...person,
      displayName: "jane@x.test",
      tenant,
      nonce,
      ticket: "ticket",
    };
    const seal = lies.offerFor ?? ((one: LoginOffer, key: string) => sealOffer(key, one));
    void Promise.resolve(seal(offer, answerKey ?? "")).then((sealed) => {
      const query = lies.query?.(sessionId ?? "") ?? new URLSearchParams({ offer: sealed }).toString();
      response.writeHead(302, { location: `${redirect(port ?? "")}?${query}` }).end();
    });
  } else if (pathname === "/renew/challenge") {
    seen.challenges++;
    if (lies.busy-- > 0) response.writeHead(429, { "retry-after": "3" }).end("{}");
    else response.end(JSON.stringify({ challenge: "a-challenge", url: `${base}/renew` }));
  } else {
    void text(request).then(async (body) => {
      seen.confirmations++;
      const value: unknown = JSON.parse(body);
      const { ticket, signature } = isRecord(value) ? value : {};
      const known = waiting.get(String(ticket));
      seen.verified =
        known !== undefined && verifyText(signer.publicKey, confirmationText(known.login), String(signature));
      if (lies.refusal !== undefined)
        response.writeHead(lies.refusal.status, { location: `${base}/confirm` }).end(lies.refusal.body);
      else {
        const binding = responseFor(known?.login.sessionId ?? "");
        const seal = lies.bindingFor ?? ((one: BindingResponse, key: string) => sealBinding(key, one));
        response.end(JSON.stringify({ answer: await seal(binding, known?.answerKey ?? "") }));
      }
    });
  }
}).listen(0, "127.0.0.1");
await once(server, "listening");
after(() => {
  server.closeAllConnections();
  server.close();
});
const address = server.address();
const base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
const provider: ConfirmingProvider = {
  url: `${base}/export`,
  prettyName: "Example",
  version: "v1.6.0",
  loginUrl: new URL(`${base}/authorize`),
  controlPlaneId: undefined,
  confirmUrl: `${base}/confirm`,
};

/** Waits that the plugin made. */
const slept: number[] = [];

/** Logs in with this provider; the person answers with `answers`, and waits take no time. */
function logIn(
  change: Partial<Lies>,
  { answers = ["yes"], loginAs }: { readonly answers?: readonly string[]; readonly loginAs?: string } = {},
): { readonly run: ScriptedRun; readonly response: Promise<BindingResponse> } {
  const { offerFor: _o, bindingFor: _b, query: _q, refusal: _r, ...none } = lies;
  for (const name of ["offerFor", "bindingFor", "query", "refusal"] as const) delete lies[name];
  Object.assign(lies, none, { busy: 0 }, change);
  Object.assign(seen, { challenges: 0, confirmations: 0, verified: false });
  slept.length = 0;
  const run = scriptedRun({ answers, browser: (url) => void fetch(url) });
  const clock = {
    ...systemClock,
    sleep: (ms: number, options?: { readonly signal?: AbortSignal }) => {
      slept.push(ms);
      return systemClock.sleep(ms === 1000 || ms > 100_000 ? ms : 1, options);
    },
  };
  const options = { clusterId: "abc123", timeoutMs: 300_000, browser: true, signer, loginAs };
  return { run, response: confirmedLogin({ ...run.context, clock }, provider, options) };
}

test("the person is told who logged in and which tenant that is for, and the app cluster's key signs exactly that", async () => {
  const { run, response } = logIn({});
  assert.equal((await response).authentication.oauth2CodeGrant.id, "https://idp/jane");
  assert.match(
    run.stderr(),
    /logged in as jane@x\.test \(subject jane\), says https:\/\/idp\.\n.*becomes a member of tenant cluster-one at Example/,
  );
  assert.deepEqual(seen, { challenges: 1, confirmations: 1, verified: true });
});

test("a person who says no, or says nothing, confirms nothing; nothing is signed", async () => {
  for (const answers of [["no"], []]) {
    const { response } = logIn({}, { answers });
    await assert.rejects(response, /not accepted.*--login-as|Cancelled/);
    assert.deepEqual(seen, { challenges: 0, confirmations: 0, verified: false });
  }
});

test("--login-as answers for the named person only, and not for a name that a person may choose", async () => {
  const chosen = logIn({}, { answers: [], loginAs: "jane@x.test" });
  await assert.rejects(chosen.response, /--login-as asks for jane@x\.test/);
  const email: Partial<Lies> = {
    offerFor: (offer, key) => sealOffer(key, { ...offer, verifiedEmail: "jane@x.test" }),
  };
  for (const loginAs of ["jane", "jane@x.test"]) {
    const { run, response } = logIn(email, { answers: [], loginAs });
    await response;
    assert.match(run.stderr(), /Accepted by --login-as/);
  }
  const { response } = logIn({}, { answers: ["yes"], loginAs: "joe" });
  await assert.rejects(
    response,
    /The login is as jane@x\.test \(subject jane\), and --login-as asks for joe/,
  );
  assert.equal(seen.challenges, 0);
});

test("control characters in a person's name do not reach the terminal", async () => {
  const { run, response } = logIn({
    offerFor: (offer, key) =>
      sealOffer(key, { ...offer, displayName: "\u001b[2Jjoe\r", subject: "\u202ejoe" }),
  });
  await assert.rejects(response);
  for (const hidden of ["\u001b", "\r", "\u202e"]) assert.ok(!run.stderr().includes(hidden));
});

const unconfirmed: Readonly<Record<string, Partial<Lies>>> = {
  "an offer that is sealed for another key": {
    offerFor: async (offer) => sealOffer((await newAnswerKey()).publicKey, offer),
  },
  "an offer of another session": {
    offerFor: (offer, key) => sealOffer(key, { ...offer, sessionId: "other" }),
  },
  "an offer that is not sealed": { offerFor: (offer) => JSON.stringify(offer) },
  "the answer of the old way": {
    query: (sid) => new URLSearchParams({ response: encodeBindingResponse(responseFor(sid)) }).toString(),
  },
  "a binding in the place of the offer": {
    offerFor: (offer, key) => sealBinding(key, responseFor(offer.sessionId)),
  },
};
for (const [what, change] of Object.entries(unconfirmed)) {
  test(`${what} is refused while the plugin waits on, and a right one is still taken`, async () => {
    const { run, response } = logIn(change);
    await waitForRefusal(run);
    for (const name of ["offerFor", "query"] as const) delete lies[name];
    const [url = ""] = /http\S+authorize\S+/.exec(run.stderr()) ?? [];
    await fetch(url);
    await response;
    assert.equal(seen.verified, true);
  });
}

/** The browser got its answer to the first try. */
async function waitForRefusal(run: ScriptedRun): Promise<void> {
  const until = Date.now() + 5_000;
  let url: string | undefined;
  while (url === undefined && Date.now() < until) {
    url = /http\S+authorize\S+/.exec(run.stderr())?.[0];
    await new Promise((resolve) => setImmediate(resolve));
  }
  const page = await fetch(url ?? "");
  assert.equal(page.status, 400, await page.text());
}

const useless: Readonly<Record<string, readonly [Partial<Lies>, RegExp]>> = {
  "is sealed for another key": [
    { bindingFor: async (response) => sealBinding((await newAnswerKey()).publicKey, response) },
    /was not sealed for this login/,
  ],
  "names another person": [
    { bindingFor: (_, key) => sealBinding(key, responseFor("x", "https://idp/mallory")) },
    /another login|another person/,
  ],
  "names another person of this session": [
    {
      bindingFor: ({ authentication }, key) =>
        sealBinding(key, responseFor(authentication.oauth2CodeGrant.sid, "https://idp/mallory")),
    },
    /id: is that of another person/,
  ],
  "has no APIs": [
    { bindingFor: (response, key) => sealBinding(key, { ...response, requests: [] }) },
    /requests: is empty/,
  ],
  "is a refusal": [
    { refusal: { status: 403, body: JSON.stringify({ error: "No \u001b[2Jway.", advice: "Ask." }) } },
    /HTTP 403: No .*way\. Ask\..*Nothing was changed/,
  ],
  "sends the confirmation on to another server": [
    { refusal: { status: 307, body: "" } },
    /did not accept the confirmation \(HTTP 307\)/,
  ],
  "is a page": [{ refusal: { status: 502, body: "<h1>Bad Gateway</h1>" } }, /HTTP 502\)/],
};
for (const [what, [change, words]] of Object.entries(useless)) {
  test(`an answer to the confirmation that ${what} ends the command`, async () => {
    const { response } = logIn(change);
    await assert.rejects(response, words);
  });
}

test("a provider that is busy is asked again when it says, and the login goes on", async () => {
  const { response } = logIn({ busy: 3 });
  await response;
  assert.equal(seen.challenges, 4);
  assert.equal(slept.filter((ms) => ms === 3000).length, 3);
});

test("a provider that stays busy ends the command with an error", async () => {
  const { response } = logIn({ busy: 100 });
  await assert.rejects(response, /gave no challenge to sign \(HTTP 429\)/);
  assert.equal(seen.confirmations, 0);
});
