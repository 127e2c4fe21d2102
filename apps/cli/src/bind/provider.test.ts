/** Bad addresses and bad providers, from an in-process server whose only purpose is to be wrong. */
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { fetchText } from "../http.ts";
import { runCli } from "../program.ts";
import { fetchProvider, loginUrlFor } from "./provider.ts";
import { scriptedRun } from "../testing/script.ts";

const good = {
  kind: "BindingProvider",
  apiVersion: "v1alpha1",
  providerPrettyName: "Example",
  version: "v1.5.0",
  authenticationMethods: [
    { method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL: "http://127.0.0.1/authorize" } },
  ],
};

/** `good`, with a login address of the server that is asked. */
function goodFor({ req }: ServerResponse): object {
  const authenticatedURL = `http://${req.headers.host}/authorize`;
  return {
    ...good,
    authenticationMethods: [{ method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL } }],
  };
}

async function serve(t: TestContext, answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return `http://127.0.0.1:${address.port}/export`;
}

/** Runs `kubectl bind <url>` without any app cluster: these faults come before one is needed. */
async function message(url: string, ...flags: string[]): Promise<string> {
  const run = scriptedRun({ env: { HOME: "/nowhere" } });
  assert.equal(await runCli("kubectl-bind", [url, ...flags], run.context), 1);
  assert.equal(run.stdout(), "");
  assert.equal(run.stderr().trimEnd().split("\n").length, 1, `one message: ${run.stderr()}`);
  return run.stderr();
}

const cases: readonly (readonly [
  name: string,
  answer: (response: ServerResponse) => void,
  expected: RegExp,
])[] = [
  ["an HTTP error", (response) => response.writeHead(503).end(), /HTTP 503 .*\/export/],
  ["an HTML page", (response) => response.end("<html>"), /not a Klutch backend: its answer is not JSON/],
  ["JSON of something else", (response) => response.end('{"kind":"Status"}'), /kind: is "Status"/],
  [
    "a redirect",
    (response) => response.writeHead(302, { location: "http://elsewhere.test/" }).end(),
    /redirects to http:\/\/elsewhere\.test\/, which is not followed/,
  ],
  ["another apiVersion", reply({ apiVersion: "v2" }), /apiVersion: is "v2"/],
  ["an old version", reply({ version: "v0.2.3" }), /v0\.2\.3 is older than v0\.3\.0/],
  ["no version", reply({ version: "" }), /not a semantic version/],
  ["no way to log in", reply({ authenticationMethods: [] }), /no OAuth2CodeGrant/],
  [
    "a login address that is not http",
    reply({
      authenticationMethods: [
        { method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL: "file:///etc/passwd" } },
      ],
    }),
    /login address that is not http/,
  ],
  ["a broken connection", (response) => response.destroy(), /cannot be reached/],
  ["an endless answer", (response) => response.end("x".repeat(3_000_000)), /more than 1048576 characters/],
];

function reply(change: object): (response: ServerResponse) => void {
  return (response) => response.end(JSON.stringify({ ...goodFor(response), ...change }));
}

for (const [name, answer, expected] of cases) {
  test(`a provider that answers with ${name} gets one clear message`, async (t) => {
    assert.match(await message(await serve(t, answer)), expected);
  });
}

test("an unreachable provider and an invalid address give different errors", async (t) => {
  const url = new URL(await serve(t, () => {}));
  assert.match(await message("provider.test/export"), /must start with http/);
  assert.match(await message("https://nowhere.invalid/export"), /host name/);
  assert.match(await message(`https://${url.host}/export`), /does not speak TLS/);
});

test("a good provider leads to the next step, where the missing kubeconfig is named", async (t) => {
  for (const version of ["v0.0.0", "v0.0.0-master+$Format:%H$", "v0.3.0", "v1.2.5"]) {
    assert.match(
      await message(await serve(t, reply({ version }))),
      /Pass --kubeconfig or set KUBECONFIG/,
      version,
    );
  }
});

const loginAt = (authenticatedURL: string): object => ({
  authenticationMethods: [{ method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL } }],
});

test("credentials travel over https only; http is for this machine, for a provider and for a manifest", async () => {
  for (const url of [
    "http://provider.test/export",
    "http://127.0.0.1.evil.test/export",
    "http://10.0.0.1/export",
  ]) {
    assert.match(await message(url), /only over https/, url);
    const args = ["apiservice", "--remote-kubeconfig", "k"];
    const run = scriptedRun({ env: { HOME: "/nowhere" } });
    assert.equal(await runCli("kubectl-bind", [...args, url], run.context), 1);
    assert.match(run.stderr(), /only over https/, url);
  }
  assert.match(await message("https://jane:secret@provider.test/export"), /user name or password/);
});

test("a login address on another host is refused, naming the flag; with the flag for that host it is taken", async (t) => {
  const url = await serve(t, reply(loginAt("https://login.test/authorize")));
  const refused = await message(url);
  assert.match(refused, /https:\/\/login\.test.*--allow-authorize-url=https:\/\/login\.test/);
  assert.match(await message(url, "--allow-authorize-url=https://other.test"), /--allow-authorize-url/);
  assert.match(await message(url, "--allow-authorize-url=https://login.test/authorize"), /KUBECONFIG/);
  assert.match(await message(url, "--allow-authorize-url=http://login.test"), /only over https/);
});

test("an existing backend behind a gateway names its own host with http; the login goes there over https", () => {
  const login = (typed: string, named: string, allowed?: string): string =>
    loginUrlFor(typed, named, allowed).href;
  assert.equal(login("https://k.test/export", "http://k.test/authorize"), "https://k.test/authorize");
  assert.equal(
    login("https://k.test:8443/export", "http://k.test:8443/authorize?a=1"),
    "https://k.test:8443/authorize?a=1",
  );
  assert.equal(
    login("http://localhost:1/export", "http://localhost:1/authorize"),
    "http://localhost:1/authorize",
  );
  for (const [typed, named] of [
    ["https://k.test/export", "https://k.test:444/authorize"],
    ["https://k.test/export", "http://k.test.evil.test/authorize"],
    ["https://k.test/export", "https://k.test@evil.test/authorize"],
    ["https://k.test/export", "http://localhost/authorize"],
    ["http://localhost:1/export", "http://localhost:2/authorize"],
    ["http://localhost:1/export", "https://localhost:1/authorize"],
  ] as const) {
    assert.throws(
      () => login(typed, named),
      { code: "NotAProvider", message: /--allow-authorize-url|password/ },
      named,
    );
  }
});

test("no field of a provider's answer steers the terminal or adds a line to the message", async (t) => {
  const hostile = "\u001b[2J\u202e\nerror: all is well\u009b";
  const answers: readonly ((response: ServerResponse) => void)[] = [
    reply({ kind: hostile }),
    reply({ apiVersion: hostile }),
    reply({ version: hostile }),
    reply(loginAt(hostile)),
    reply(loginAt(`https://x.test/${hostile}`)),
    (response) => response.writeHead(302, { location: encodeURI("http://x.test/a b") }).end(),
    (response) => response.writeHead(503, "\u009b31m red \u0085").end(hostile),
  ];
  for (const answer of answers) {
    assert.match(await message(await serve(t, answer)), /^error: [\x20-\x7e…\ufffd]+\n$/);
  }
});

test("an answer without end is cut off, whether it comes fast or slowly", async (t) => {
  const flood = await serve(t, (response) => {
    const pour = (): void => void response.write("x".repeat(65_536), (error) => (error ? undefined : pour()));
    pour();
  });
  assert.match(await message(flood), /more than 1048576 characters/);
  const drip = await serve(t, (response) => void response.write("{"));
  await assert.rejects(fetchText(drip, new AbortController().signal, { timeoutMs: 200 }), {
    code: "ProviderUnreachable",
    message: /within 0\.2 s/,
  });
});

test("Go's way to write boolean flags and the old plugin's other flags are accepted", async (t) => {
  const url = await serve(t, reply({}));
  const run = scriptedRun({ env: { HOME: "/nowhere" } });
  const args = [
    url,
    "--skip-konnector=true",
    "--dry-run=false",
    "--no-banner",
    "--v=2",
    "--logging-format=text",
  ];
  assert.equal(await runCli("kubectl-bind", args, run.context), 1);
  assert.match(run.stderr(), /^error: .*KUBECONFIG/);
});

test("help goes to standard output with exit code 0, a wrong flag to standard error with 1", async () => {
  const help = scriptedRun();
  assert.equal(await runCli("klutch", ["bind", "--help"], help.context), 0);
  assert.match(help.stdout(), /--accept-permissions/);
  const wrong = scriptedRun();
  assert.equal(await runCli("kubectl-bind", ["--dry-runs"], wrong.context), 1);
  assert.match(wrong.stderr(), /unknown option '--dry-runs'.*Did you mean --dry-run/s);
});

test("confirmations are sent to the origin of the login only", async (t) => {
  const named = (confirmUrl: (host: string) => unknown): Promise<string> =>
    serve(t, (response) => {
      const own = confirmUrl(response.req.headers.host ?? "");
      response.end(JSON.stringify({ ...goodFor(response), confirmUrl: own }));
    });
  const { signal } = new AbortController();
  const right = await fetchProvider(await named((host) => `http://${host}/confirm`), signal);
  assert.match(right.confirmUrl ?? "", /^http:\/\/127\.0\.0\.1:\d+\/confirm$/);
  for (const other of ["https://evil.example/confirm", "http://127.0.0.1:1/confirm"])
    await assert.rejects(fetchProvider(await named(() => other), signal), {
      code: "NotAProvider",
      message: /takes confirmations of logins at .*another server than that of the login/,
    });
  for (const none of [7, "", "javascript:x/confirm", "http://evil.example/confirm"])
    assert.equal((await fetchProvider(await named(() => none), signal)).confirmUrl, undefined);
});

test("logins on another device begin at the origin of the login only", async (t) => {
  const named = (deviceUrl: (host: string) => unknown): Promise<string> =>
    serve(t, (response) => {
      const own = deviceUrl(response.req.headers.host ?? "");
      response.end(JSON.stringify({ ...goodFor(response), deviceUrl: own }));
    });
  const { signal } = new AbortController();
  const right = await fetchProvider(await named((host) => `http://${host}/device`), signal);
  assert.match(right.deviceUrl ?? "", /^http:\/\/127\.0\.0\.1:\d+\/device$/);
  for (const other of ["https://evil.example/device", "http://127.0.0.1:1/device"])
    await assert.rejects(fetchProvider(await named(() => other), signal), {
      code: "NotAProvider",
      message: /begins logins on another device at .*another server than that of the login/,
    });
  for (const none of [7, "", "javascript:x/device", "http://evil.example/device", "https://x/other"])
    assert.equal((await fetchProvider(await named(() => none), signal)).deviceUrl, undefined);
});
