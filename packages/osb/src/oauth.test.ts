import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { createOsbClient, type OsbClient } from "./client.ts";
import { mayHaveLeftOrphan, OsbError, OsbTransportError } from "./errors.ts";
import { decodeGrant, type OAuthConfig } from "./oauth.ts";
import { json } from "./testing/fake-broker.ts";

const secret = "s3cret/ü&=";
const provision = { instanceId: "i", serviceId: "s", planId: "p", organizationGuid: "o", spaceGuid: "sp" };

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** Requests and answers of a client with OAuth. */
interface Fixture {
  readonly client: OsbClient;
  /** Forms that the token endpoint got, with their `authorization`. */
  readonly asked: { readonly form: URLSearchParams; readonly authorization: string | undefined }[];
  /** `authorization` of each request at the broker. */
  readonly shown: (string | undefined)[];
  /** Moves the client's clock. */
  readonly pass: (ms: number) => void;
}

/** A fake of both sides: real servers do not lie, expire or break on demand. */
async function fixture(
  t: TestContext,
  handlers: { readonly token: Handler; readonly broker?: Handler; readonly timeoutMs?: number },
  config: Partial<OAuthConfig> = {},
): Promise<Fixture> {
  const asked: Fixture["asked"] = [];
  const shown: Fixture["shown"] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { authorization } = request.headers;
      if (request.url === "/token") {
        asked.push({ form: new URLSearchParams(body), authorization });
        handlers.token(request, response, body);
        return;
      }
      shown.push(authorization);
      (handlers.broker ?? json(200, { services: [] }))(request, response, body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const url = `http://127.0.0.1:${address.port}`;
  let time = 0;
  const client = createOsbClient(
    {
      url,
      timeoutMs: handlers.timeoutMs ?? 20_000,
      auth: { kind: "oauth", tokenUrl: `${url}/token`, clientId: "klutch", clientSecret: secret, ...config },
    },
    undefined,
    { now: () => time, newRequestIdentity: () => "r" },
  );
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return { client, asked, shown, pass: (ms) => (time += ms) };
}

/** Gives out `token-1`, `token-2`, … */
function grants(more: Readonly<Record<string, unknown>> = { expires_in: 600 }): Handler {
  let count = 0;
  return (request, response) => {
    count++;
    json(200, { access_token: `token-${count}`, token_type: "bearer", ...more })(request, response);
  };
}

test("a token is fetched once, by the standard's form, and used until shortly before its end", async (t) => {
  const { client, asked, shown, pass } = await fixture(
    t,
    { token: grants() },
    { scope: "broker", audience: "a" },
  );
  await client.catalog();
  pass(569_000);
  await client.catalog();
  assert.deepEqual(shown, ["Bearer token-1", "Bearer token-1"]);
  pass(1_001);
  await client.catalog();
  assert.deepEqual(shown.slice(2), ["Bearer token-2"]);
  assert.equal(asked.length, 2);
  const user = `klutch:${new URLSearchParams({ x: secret }).toString().slice(2)}`;
  assert.equal(asked[0]?.authorization, `Basic ${Buffer.from(user).toString("base64")}`);
  assert.equal(asked[0]?.form.toString(), "grant_type=client_credentials&scope=broker&audience=a");
});

test("the client's secret goes into the body when the server wants that", async (t) => {
  const { client, asked } = await fixture(t, { token: grants() }, { clientAuthentication: "body" });
  await client.catalog();
  assert.equal(asked[0]?.authorization, undefined);
  assert.equal(asked[0]?.form.get("client_secret"), secret);
  assert.equal(asked[0]?.form.get("client_id"), "klutch");
});

test("calls at the same time share one fetch, and one that is given up does not end it for the others", async (t) => {
  const { client, asked } = await fixture(t, {
    token: (request, response, body) => setTimeout(() => grants()(request, response, body), 50),
  });
  const abort = new AbortController();
  const reason = new Error("enough");
  const first = client.catalog({ signal: abort.signal });
  const others = [client.catalog(), client.catalog()];
  abort.abort(reason);
  await assert.rejects(first, reason);
  await Promise.all(others);
  assert.equal(asked.length, 1);
});

test("401 fetches a token again once and repeats the request once", async (t) => {
  const { client, asked, shown } = await fixture(t, {
    token: grants(),
    broker: (request, response) =>
      json(request.headers.authorization === "Bearer token-2" ? 200 : 401, { services: [] })(
        request,
        response,
      ),
  });
  await client.catalog();
  assert.deepEqual(shown, ["Bearer token-1", "Bearer token-2"]);
  await client.catalog();
  assert.equal(asked.length, 2);
});

test("a broker that always says 401 is asked twice, not for ever", async (t) => {
  const { client, asked, shown } = await fixture(t, {
    token: grants(),
    broker: json(401, { description: "no" }),
  });
  await assert.rejects(client.catalog(), { status: 401, message: "no" });
  assert.equal(shown.length, 2);
  assert.equal(asked.length, 2);
});

test("401 with a token that is no longer the kept one does not throw away the new one", async (t) => {
  const { client, asked } = await fixture(t, {
    token: grants(),
    broker: (request, response) => {
      const old = request.headers.authorization === "Bearer token-1";
      setTimeout(() => json(old ? 401 : 200, { services: [] })(request, response), old ? 40 : 0);
    },
  });
  await Promise.all([client.catalog(), client.catalog(), client.catalog()]);
  assert.equal(asked.length, 2);
});

test("basic and bearer credentials are not sent again after 401", async (t) => {
  for (const auth of [
    { kind: "basic", username: "u", password: "p" },
    { kind: "bearer", token: "t" },
  ] as const) {
    let count = 0;
    const server = createServer((request, response) => {
      count++;
      json(401, {})(request, response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    await using client = createOsbClient({ url: `http://127.0.0.1:${address.port}`, auth });
    await assert.rejects(client.catalog(), OsbError);
    assert.equal(count, 1);
  }
});

/** Faulty answers of a token endpoint, and the expected error. */
const lies: readonly (readonly [string, Handler, RegExp])[] = [
  [
    "refuses the client",
    json(401, { error: "invalid_client", error_description: secret }),
    /HTTP 401 \(invalid_client\)/,
  ],
  ["echoes the secret as its error", json(400, { error: secret }), /with HTTP 400$/],
  ["answers with a page", (_request, response) => response.writeHead(200).end("<html>"), /not a JSON object/],
  ["answers with a list", json(200, []), /not a JSON object/],
  ["gives no token", json(200, { token_type: "bearer" }), /no access_token/],
  [
    "gives a token with a line break",
    json(200, { access_token: "a\nx-evil: 1", token_type: "bearer" }),
    /no access_token/,
  ],
  [
    "gives a huge token",
    json(200, { access_token: "a".repeat(20_000), token_type: "bearer" }),
    /no access_token/,
  ],
  ["gives another type", json(200, { access_token: "a", token_type: "mac" }), /another type/],
  ["gives no type", json(200, { access_token: "a" }), /another type/],
  ["sends the client elsewhere", json(307, {}, { location: "http://127.0.0.1:1/" }), /HTTP 307$/],
  ["says nothing", () => undefined, /did not answer/],
  ["breaks off", (request) => request.socket.destroy(), /broke during/],
  [
    "stops halfway",
    (_request, response) => response.writeHead(200, { "content-length": "100" }).write("{"),
    /did not answer/,
  ],
];
for (const [what, token, message] of lies) {
  test(`a token endpoint that ${what} is an error without secrets, which leaves no orphan`, async (t) => {
    const { client, shown } = await fixture(t, { token, timeoutMs: 300 });
    await assert.rejects(client.provision(provision), (error) => {
      assert.ok(error instanceof OsbTransportError);
      assert.equal(error.code, "Login");
      assert.match(error.message, message);
      assert.ok(!mayHaveLeftOrphan(error));
      assert.ok(!inspect(error, { depth: 10 }).includes("s3cret"), inspect(error, { depth: 10 }));
      return true;
    });
    assert.deepEqual(shown, []);
  });
}

test("after the token endpoint failed, the next call asks it again", async (t) => {
  let count = 0;
  const { client } = await fixture(t, {
    token: (request, response, body) => (count++ === 0 ? json(503, {}) : grants())(request, response, body),
  });
  await assert.rejects(client.catalog(), { code: "Login" });
  await client.catalog();
});

test("a lifetime that is no positive number counts as not said, and none is longer than a day", () => {
  const lifetimes: readonly (readonly [unknown, number])[] = [
    [60, 60_000],
    ["60", 60_000],
    [0, 300_000],
    [-1, 300_000],
    ["", 300_000],
    ["soon", 300_000],
    [null, 300_000],
    [undefined, 300_000],
    [1e308, 86_400_000],
    ["Infinity", 86_400_000],
  ];
  for (const [expires_in, lifetimeMs] of lifetimes) {
    const body = JSON.stringify({ access_token: "t", token_type: "Bearer", expires_in });
    assert.deepEqual(
      decodeGrant({ status: 200, text: body }),
      { token: "t", lifetimeMs },
      String(expires_in),
    );
  }
});

test("whatever the token endpoint answers, it becomes a usable token or an error without its words", () => {
  const field = fc.oneof(fc.string(), fc.jsonValue(), fc.constantFrom("bearer", "Bearer", "t0ken", 3600));
  const answer = fc.oneof(
    fc.string(),
    fc
      .record(
        { access_token: field, token_type: field, expires_in: field, error: field },
        { requiredKeys: [] },
      )
      .map((body) => JSON.stringify(body)),
  );
  fc.assert(
    fc.property(answer, fc.constantFrom(200, 201, 302, 400, 401, 500), (body, status) => {
      try {
        const { token, lifetimeMs } = decodeGrant({ status, text: body });
        assert.match(token, /^[\x21-\x7e]+$/);
        assert.ok(lifetimeMs > 0 && lifetimeMs <= 86_400_000);
      } catch (error) {
        assert.ok(error instanceof OsbTransportError && error.code === "Login", String(error));
        assert.match(error.message, /^the token endpoint [A-Za-z0-9 _.()-]+$/);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("a token URL that would show the secret is refused before anything is sent", () => {
  for (const tokenUrl of [
    "http://login.example/token",
    "login",
    "https://id:pw@login.example/",
    "ftp://x/",
  ]) {
    const auth = { kind: "oauth", tokenUrl, clientId: "c", clientSecret: secret } as const;
    assert.throws(() => createOsbClient({ url: "https://b", auth }), {
      code: "NotSent",
      message: /the token URL/,
    });
  }
  for (const token of ["", "a b", "a\n"])
    assert.throws(() => createOsbClient({ url: "https://b", auth: { kind: "bearer", token } }), {
      code: "NotSent",
      message: /the bearer token is empty or/,
    });
});

test("a broker that repeats an access token or the client's secret does not bring them into an error", async (t) => {
  const { client } = await fixture(t, {
    token: grants(),
    broker: (request, response) =>
      json(request.headers.authorization === "Bearer token-2" ? 400 : 401, {
        description: `you sent ${request.headers.authorization}, after token-1, with ${secret}`,
      })(request, response),
  });
  await assert.rejects(client.catalog(), {
    status: 400,
    message: "you sent Bearer [redacted], after [redacted], with [redacted]",
  });
});
