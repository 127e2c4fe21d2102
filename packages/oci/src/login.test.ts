/** Registries that want a login, and those that want more than they should get. Only a fake asks for it as each test wants. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer, text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { Secret } from "@klutch/telemetry";
import { OciError } from "./errors.ts";
import { type Account, RegistryLogin } from "./login.ts";
import { pushImage } from "./push.ts";
import { buildXpkg } from "./xpkg.ts";

const image = buildXpkg("kind: Function\n");
const password = "hunter2-hunter2";
const basic = `Basic ${Buffer.from(`me:${password}`).toString("base64")}`;
const me: Account = { kind: "password", username: "me", password: new Secret(password) };

/** A request that a server received. */
interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
}

/** A server at an address of its own, and all that it was asked. */
interface FakeServer {
  readonly url: string;
  readonly asked: Asked[];
}

type Answer = (request: IncomingMessage, response: ServerResponse, own: FakeServer) => void | Promise<void>;

async function serve(t: TestContext, answer: Answer, host = "127.0.0.1"): Promise<FakeServer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url ?? "", authorization: request.headers.authorization });
    void answer(request, response, fake);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, host, resolve);
  await promise;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const fake: FakeServer = { url: `http://${host}:${port}`, asked };
  return fake;
}

/** Accepts everything with the header; otherwise asks for it. */
function registryFor(header: () => string, challenge: (own: FakeServer) => string): Answer {
  return async (request, response, own) => {
    if (request.url?.startsWith("/token") === true) {
      response.end(JSON.stringify({ token: "token-1" }));
      return;
    }
    await buffer(request);
    if (request.headers.authorization !== header())
      response.writeHead(401, { "www-authenticate": challenge(own) }).end();
    else accept(request, response);
  };
}

function accept(request: IncomingMessage, response: ServerResponse): void {
  if (request.method === "HEAD") response.writeHead(404).end();
  else if (request.method === "POST") response.writeHead(202, { location: "/upload?state=1" }).end();
  else response.writeHead(201).end();
}

interface PushOptions {
  readonly account?: Account | undefined;
  readonly tokenServers?: readonly string[];
  readonly registry?: string;
}

function push(to: FakeServer, options: PushOptions = { account: me }): Promise<void> {
  const registry = options.registry ?? to.url;
  const { account, tokenServers = [] } = options;
  const login = new RegistryLogin({ registry, tokenServers, account: async () => account });
  return pushImage(image, { registry, repository: "team/x", tag: "v1", login });
}

/** The words of the refusal, in which no secret stands. */
async function refusal(pushing: Promise<void>): Promise<string> {
  try {
    await pushing;
  } catch (error) {
    assert.ok(error instanceof OciError);
    const all = `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
    for (const secret of [password, basic.slice(6), "token-1"]) assert.ok(!all.includes(secret), secret);
    return error.message;
  }
  return assert.fail("it was taken");
}

const bearer = (realm: string): string =>
  `Bearer realm="${realm}",service="the registry",scope="registry:catalog:*"`;

test("a registry that wants a password gets it, from the second request on, and only when it asks", async (t) => {
  const registry = await serve(
    t,
    registryFor(
      () => basic,
      () => 'Basic realm="x"',
    ),
  );
  await push(registry);
  assert.deepEqual(
    registry.asked.slice(0, 2).map(({ authorization }) => authorization),
    [undefined, basic],
  );
  const open = await serve(t, (request, response) => accept(request, response));
  await push(open);
  assert.ok(open.asked.every(({ authorization }) => authorization === undefined));
});

test("a token is asked for with the password, for this repository and nothing else, and used at the registry", async (t) => {
  const registry = await serve(
    t,
    registryFor(
      () => "Bearer token-1",
      ({ url }) => bearer(`${url}/token?a=b`),
    ),
  );
  await push(registry);
  const tokens = registry.asked.filter(({ path }) => path.startsWith("/token"));
  assert.deepEqual(tokens, [
    {
      path: "/token?a=b&service=the+registry&scope=repository%3Ateam%2Fx%3Apull%2Cpush&account=me",
      authorization: basic,
    },
  ]);
});

test("a token that expires in the middle is requested again, and one that is never accepted ends it", async (t) => {
  let count = 0;
  const registry = await serve(t, async (request, response, { url }) => {
    if (request.url?.startsWith("/token") === true) {
      response.end(JSON.stringify({ access_token: `good-${++count}`, expires_in: 60 }));
      return;
    }
    await buffer(request);
    // Each is good for two requests.
    const isGood = request.headers.authorization === `Bearer good-${count}` && uses++ < 2;
    if (isGood) accept(request, response);
    else {
      uses = 0;
      response.writeHead(401, { "www-authenticate": bearer(`${url}/token`) }).end();
    }
  });
  let uses = 0;
  await push(registry);
  assert.ok(count > 1);
  const never = await serve(
    t,
    registryFor(
      () => "Bearer other",
      ({ url }) => bearer(`${url}/token`),
    ),
  );
  assert.match(await refusal(push(never)), /does not (?:take|accept) the login for team\/x; log in again/);
  assert.equal(never.asked.length, 3);
});

test("a server of tokens that the registry chose gets the password only when a person has named it", async (t) => {
  const thief = await serve(
    t,
    registryFor(
      () => "",
      () => "",
    ),
    "localhost",
  );
  const registry = await serve(
    t,
    registryFor(
      () => "Bearer token-1",
      () => bearer(`${thief.url}/token`),
    ),
  );
  const { host } = new URL(thief.url);
  assert.match(
    await refusal(push(registry)),
    new RegExp(
      `has tokens at another server, ${host}, which would get the password; .* --token-server ${host}$`,
    ),
  );
  assert.equal(thief.asked.length, 0);
  await push(registry, { account: me, tokenServers: [host] });
  assert.equal(thief.asked[0]?.authorization, basic);
});

for (const [what, realm, words] of [
  ["over plain http", "http://tokens.example.org/", /no password is sent over plain http/],
  ["with a user in its URL", "https://a:b@127.0.0.1/", /has tokens at a URL with a user in it/],
  ["that is no URL", "tokens", /has tokens at "tokens", which is no URL/],
  ["that is a file", "file:///etc/passwd", /no password is sent over plain http/],
] as const)
  test(`a server of tokens ${what} gets nothing`, async (t) => {
    const registry = await serve(
      t,
      registryFor(
        () => "",
        () => bearer(realm),
      ),
    );
    assert.match(await refusal(push(registry)), words);
  });

test("no password is sent to a registry over plain http, unless it is on this machine", async () => {
  const registry = "http://registry.example.org";
  const login = new RegistryLogin({ registry, tokenServers: [], account: async () => me });
  await assert.rejects(
    login.answer('Basic realm="x"', "x", undefined),
    /no password is sent over plain http/,
  );
  assert.equal(login.header("x"), undefined);
});

test("other servers that uploads or redirects lead to get no credentials", async (t) => {
  const elsewhere = await serve(t, async (request, response) => {
    await buffer(request);
    response.writeHead(201).end();
  });
  const registry = await serve(t, async (request, response) => {
    await buffer(request);
    if (request.headers.authorization !== basic)
      response.writeHead(401, { "www-authenticate": "Basic" }).end();
    else if (request.method === "POST") response.writeHead(202, { location: `${elsewhere.url}/up` }).end();
    else if (request.method === "PUT") response.writeHead(307, { location: `${elsewhere.url}/to` }).end();
    else accept(request, response);
  });
  await push(registry);
  assert.ok(elsewhere.asked.some(({ path }) => path.startsWith("/up?digest=")));
  assert.ok(elsewhere.asked.some(({ path }) => path === "/to"));
  assert.ok(elsewhere.asked.every(({ authorization }) => authorization === undefined));
  const redirecting = await serve(t, async (request, response, { url }) => {
    await buffer(request);
    if (request.url?.startsWith("/token") === true)
      response.writeHead(307, { location: `${elsewhere.url}/stolen` }).end();
    else response.writeHead(401, { "www-authenticate": bearer(`${url}/token`) }).end();
  });
  assert.match(await refusal(push(redirecting)), /gives none for repository:team\/x:pull,push: HTTP 307/);
  assert.ok(!elsewhere.asked.some(({ path }) => path.startsWith("/stolen")));
});

test("a registry that repeats what it was sent brings no secret into an error, and nothing that a terminal obeys", async (t) => {
  const registry = await serve(t, async (request, response) => {
    await buffer(request);
    const { authorization } = request.headers;
    if (authorization !== basic) response.writeHead(401, { "www-authenticate": "Basic" }).end();
    else response.writeHead(403).end(`you said ${authorization} \u001b[31mand ${password}`);
  });
  const words = await refusal(push(registry));
  assert.match(words, /HTTP 403 you said Basic \[redacted\] {2}\[31mand \[redacted\]$/);
});

for (const [what, answer] of [
  ["is no JSON", "token"],
  ["has no token", "{}"],
  ["has one with a line break", JSON.stringify({ token: "a\r\nx: y" })],
  ["is longer than a mebibyte", JSON.stringify({ token: "t".repeat(1024 * 1024) })],
] as const)
  test(`an answer of a token server that ${what} is refused`, async (t) => {
    const registry = await serve(t, async (request, response, { url }) => {
      await buffer(request);
      if (request.url?.startsWith("/token") === true) response.end(answer);
      else response.writeHead(401, { "www-authenticate": bearer(`${url}/token`) }).end();
    });
    assert.match(await refusal(push(registry)), /gave an answer that is no token/);
  });

test("an identity token is changed for a token in a form, and never sent to the registry", async (t) => {
  let form = "";
  const registry = await serve(t, async (request, response, { url }) => {
    if (request.url === "/token") {
      form = await text(request);
      response.end(JSON.stringify({ access_token: "token-1" }));
      return;
    }
    await buffer(request);
    if (request.headers.authorization === "Bearer token-1") accept(request, response);
    else response.writeHead(401, { "www-authenticate": bearer(`${url}/token`) }).end();
  });
  const account: Account = { kind: "identityToken", token: new Secret("refresh") };
  await push(registry, { account });
  assert.deepEqual(Object.fromEntries(new URLSearchParams(form)), {
    grant_type: "refresh_token",
    service: "the registry",
    scope: "repository:team/x:pull,push",
    client_id: "klutch",
    refresh_token: "refresh",
  });
  assert.ok(registry.asked.every(({ authorization }) => authorization?.includes("refresh") !== true));
  const wantsPassword = await serve(
    t,
    registryFor(
      () => "",
      () => "Basic",
    ),
  );
  assert.match(
    await refusal(push(wantsPassword, { account })),
    /wants a login of a kind that is not known here/,
  );
});

test("a client without a login is told how to log in, and an unknown scheme is reported as unknown", async (t) => {
  const registry = await serve(
    t,
    registryFor(
      () => "",
      () => "Basic",
    ),
  );
  const { host } = new URL(registry.url);
  assert.match(
    await refusal(push(registry, { account: undefined })),
    new RegExp(`wants a login: run docker login ${host}, or give --username and --password-stdin`),
  );
  const strange = await serve(
    t,
    registryFor(
      () => "",
      () => "Negotiate",
    ),
  );
  assert.match(await refusal(push(strange)), /wants a login of a kind that is not known here/);
});
