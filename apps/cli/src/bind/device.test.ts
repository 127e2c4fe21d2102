/** The plugin's side of a login on another device, with a scripted person and a provider that lies. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import {
  type BindingResponse,
  confirmationText,
  deviceGrant,
  type LoginOffer,
  newAnswerKey,
  newClusterKey,
  publicKeyOf,
  sealBinding,
  sealOffer,
  signText,
  verifyText,
} from "@klutch/api";
import { type Clock, systemClock } from "@klutch/kube";
import { responseFor } from "../testing/binding-response.ts";
import { type ScriptedRun, scriptedRun } from "../testing/script.ts";
import { deviceLogin, type DeviceProvider, requireDevice } from "./device.ts";

const pem = newClusterKey();
const signer = { publicKey: publicKeyOf(pem) ?? "", sign: (words: string) => signText(pem, words) };

/** An answer of the provider; a text is a page. */
interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers of the provider, right unless a test changes them. */
interface Lies {
  readonly start?: Answer;
  readonly code?: object;
  /** Answers to the polls in turn; after the last one comes the offer. A function breaks the connection. */
  readonly polls?: readonly (Answer | "hang up")[];
  readonly offerFor?: (offer: LoginOffer, answerKey: string) => Promise<string>;
}
let lies: Lies = {};
/** Requests that came to the provider. */
const seen = { start: {} as Record<string, string>, handles: [] as string[], verified: false };
const person = { issuer: "https://idp.example.org", subject: "jane" };

const server = createServer((request, response) => {
  const send = ({ status, body, headers = {} }: Answer): void => {
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  };
  void text(request).then(async (sent) => {
    const body = JSON.parse(sent) as Record<string, string>;
    const { sessionId = "", answerKey = "", clusterId = "" } = seen.start;
    const login = { ...person, sessionId, nonce: "a-nonce" };
    switch (request.url ?? "") {
      case "/device":
        seen.start = body;
        return send(lies.start ?? { status: 200, body: { ...code, handle: "handle-0", ...lies.code } });
      case "/device/poll": {
        const answer = lies.polls?.[seen.handles.push(body["handle"] ?? "") - 1];
        if (answer === "hang up") return void request.socket.destroy();
        if (answer !== undefined) return send(answer);
        const tenant = { name: "cluster-one", relation: "joins" as const };
        const offer = { ...login, tenant, ticket: "ticket", verifiedEmail: "jane@x.test" };
        return send({ status: 200, body: { offer: await (lies.offerFor ?? honest)(offer, answerKey) } });
      }
      case "/renew/challenge":
        return send({ status: 200, body: { challenge: "a-challenge" } });
      default: {
        const url = `${base}/confirm`;
        const signed = {
          ...login,
          url,
          challenge: "a-challenge",
          clusterId,
          redirectUrl: deviceGrant,
          answerKey,
        };
        seen.verified = verifyText(signer.publicKey, confirmationText(signed), body["signature"] ?? "");
        const response = responseFor(sessionId, `${person.issuer}/${person.subject}`);
        return send({ status: 200, body: { answer: await sealBinding(answerKey, response) } });
      }
    }
  });
}).listen(0, "127.0.0.1");
await once(server, "listening");
after(() => {
  server.closeAllConnections();
  server.close();
});
const address = server.address();
const base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
const code = {
  userCode: "WDJB-MJHT",
  verificationUri: "https://idp.example.org/device",
  verificationUriComplete: "https://idp.example.org/device?user_code=WDJB-MJHT",
  expiresIn: 600,
  interval: 5,
};
const provider: DeviceProvider = {
  url: `${base}/export`,
  prettyName: "Example",
  version: "v1.6.0",
  loginUrl: new URL(`${base}/authorize`),
  controlPlaneId: undefined,
  confirmUrl: `${base}/confirm`,
  deviceUrl: `${base}/device`,
};

function honest(offer: LoginOffer, answerKey: string): Promise<string> {
  return sealOffer(answerKey, offer);
}

function pending(number: number, interval = 5): Answer {
  return { status: 202, body: { message: "Not yet.", handle: `handle-${number}`, interval } };
}

/** Waits that the plugin made, in seconds. */
const slept: number[] = [];
const opened: string[] = [];

/** Logs in with this provider; waits take no time. */
function logIn(
  change: Lies,
  {
    answers = ["yes"],
    loginAs,
    timeoutMs = 3_600_000,
    signal,
  }: {
    readonly answers?: readonly string[];
    readonly loginAs?: string;
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal;
  } = {},
): { readonly run: ScriptedRun; readonly response: Promise<BindingResponse> } {
  lies = change;
  Object.assign(seen, { start: {}, handles: [], verified: false });
  slept.length = 0;
  opened.length = 0;
  const run = scriptedRun({ answers, signal, browser: (url) => void opened.push(url) });
  let passedMs = 0;
  const clock: Clock = {
    ...systemClock,
    monotonic: () => passedMs,
    async sleep(ms, options) {
      options?.signal?.throwIfAborted();
      slept.push(ms / 1000);
      passedMs += ms;
    },
  };
  const wish = { kind: "service", service: "postgresql" } as const;
  const options = { clusterId: "abc123", clusterName: "prod", wish, timeoutMs, signer, loginAs };
  return { run, response: deviceLogin({ ...run.context, clock }, provider, options) };
}

test("the plugin shows address and code, polls by the interval with the latest handle, asks who logged in, and signs that", async () => {
  const { run, response } = logIn({ polls: [pending(1), pending(2, 10)] });
  assert.equal((await response).authentication.oauth2CodeGrant.id, "https://idp.example.org/jane");
  const { sessionId: _, answerKey: _k, ...sent } = seen.start;
  assert.deepEqual(sent, {
    clusterId: "abc123",
    clusterName: "prod",
    clusterKey: signer.publicKey,
    wish: "service=postgresql",
  });
  assert.deepEqual(seen.handles, ["handle-0", "handle-1", "handle-2"]);
  assert.deepEqual(slept, [5, 5, 10]);
  const said = run.stderr();
  assert.match(said, /\n {4}https:\/\/idp\.example\.org\/device\n.*\n {4}WDJB-MJHT\n/s);
  assert.match(said, /valid for 10 minutes/);
  assert.match(said, /Give the code to no one/);
  assert.match(said, /logged in as jane, says https:\/\/idp\.example\.org/);
  assert.equal(seen.verified, true);
  assert.deepEqual(opened, []);
});

test("a person who says no, and a login of somebody else than --login-as, confirm nothing", async () => {
  await assert.rejects(logIn({}, { answers: ["no"] }).response, /login as jane was not accepted/);
  await assert.rejects(logIn({}, { loginAs: "joe" }).response, /as jane, and --login-as asks for joe/);
  assert.equal(seen.verified, false);
  const { run, response } = logIn({}, { answers: [], loginAs: "jane@x.test" });
  await response;
  assert.match(run.stderr(), /Accepted by --login-as/);
});

test("a provider that is away, busy or in the midst of an upgrade is asked again, more slowly, with the same handle", async () => {
  const page = { status: 404, body: "<h1>Not found</h1>" };
  const busy = { status: 503, body: { error: "away" } };
  await logIn({ polls: [page, busy, "hang up", pending(1)] }).response;
  assert.deepEqual(seen.handles, ["handle-0", "handle-0", "handle-0", "handle-0", "handle-1"]);
  assert.deepEqual(slept, [5, 10, 20, 40, 5]);
});

test("polls that came too early are sent again when the provider says", async () => {
  const early = { status: 429, body: { error: "too early" }, headers: { "retry-after": "7" } };
  await logIn({ polls: [early] }).response;
  assert.deepEqual(slept, [5, 7]);
});

test("a code that is over, and a person who has no more time, end the command with words", async () => {
  const polls = Array.from({ length: 200 }, (_, index) => pending(index + 1));
  await assert.rejects(
    logIn({ polls }).response,
    /No one logged in .* The code has expired\. Run the command again/,
  );
  assert.equal(seen.handles.length, 120);
  const hurried = logIn({ polls }, { timeoutMs: 12_000 });
  await assert.rejects(hurried.response, /No one logged in .*--timeout.*Nothing was changed/);
  assert.deepEqual(slept, [5, 5, 2]);
  const away = logIn({ polls: polls.map(() => "hang up" as const) });
  await assert.rejects(away.response, /At last the provider did not answer: .*cannot be reached/);
});

test("Ctrl-C ends the waiting", async () => {
  const stop = new AbortController();
  stop.abort(new Error("interrupted"));
  await assert.rejects(logIn({}, { signal: stop.signal }).response, /interrupted/);
});

const refusals: readonly (readonly [string, Lies, RegExp])[] = [
  [
    "refuses to begin",
    { start: { status: 404, body: { error: "https://idp offers no device login: none.", advice: "Ask." } } },
    /gave no code .*\(HTTP 404: https:\/\/idp offers no device login: none\. Ask\.\)\. Nothing was changed/,
  ],
  ["begins with a page", { start: { status: 200, body: "<h1>Hi</h1>" } }, /answer: is not an object/],
  [
    "sends a redirect",
    { start: { status: 307, body: "", headers: { location: "https://evil.example" } } },
    /HTTP 307/,
  ],
  [
    "refuses the person",
    { polls: [{ status: 403, body: { error: "fridges is not\u001b[2J yours.", advice: "Ask." } }] },
    /did not accept .*\(HTTP 403: fridges is not.* yours\. Ask\.\)/,
  ],
  [
    "sends an offer of another login",
    {
      offerFor: (offer, key) => sealOffer(key, { ...offer, sessionId: "other" }),
    },
    /offer\.sessionId: is that of another login/,
  ],
  [
    "sends an offer for another key",
    {
      offerFor: async (offer) => sealOffer((await newAnswerKey()).publicKey, offer),
    },
    /was not sealed for this login/,
  ],
  [
    "sends a binding in the place of the offer",
    {
      offerFor: (offer, key) => sealBinding(key, responseFor(offer.sessionId)),
    },
    /cannot be used/,
  ],
  [
    "sends a poll without a handle",
    { polls: [{ status: 202, body: { interval: 5 } }] },
    /handle: is missing/,
  ],
  ["has a code that steers the terminal", { code: { userCode: "\u001b[2J" } }, /userCode: is /],
  [
    "has an address that is a program",
    { code: { verificationUri: "javascript:alert(1)" } },
    /verificationUri: is /,
  ],
  [
    "has an address with a user in it",
    { code: { verificationUri: "https://idp@evil.example" } },
    /verificationUri: is /,
  ],
  ["has no expiry", { code: { expiresIn: "NaN" } }, /expiresIn: is .*NaN.*must be a number of seconds/],
];
for (const [what, change, words] of refusals)
  test(`a provider that ${what} ends the command with words, and nothing is signed`, async () => {
    const { run, response } = logIn(change);
    await assert.rejects(response, (error: Error) => {
      assert.match(error.message, words);
      assert.ok(!error.message.includes("\u001b"));
      return true;
    });
    assert.ok(!run.stderr().includes("\u001b"));
    assert.equal(seen.verified, false);
  });

test("an interval of 0 or 1e9 seconds is cut, and the address of another server with the code is not shown", async () => {
  const { run, response } = logIn({
    code: { interval: 0, verificationUriComplete: "https://evil.example/" },
    polls: [pending(1, 1e9)],
  });
  await response;
  assert.deepEqual(slept, [1, 60]);
  assert.doesNotMatch(run.stderr(), /evil/);
});

test("a provider without such logins is refused by name before anything is written", () => {
  const { deviceUrl: _, ...without } = provider;
  assert.throws(
    () => requireDevice(without),
    /Example offers no login on another device\. Leave out --device/,
  );
  assert.equal(requireDevice(provider).deviceUrl, provider.deviceUrl);
});
