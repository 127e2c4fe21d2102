/** Bad addresses and bad providers, from an in-process server whose only purpose is to be wrong. */
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { runCli } from "./program.ts";
import { scriptedRun } from "./testing/script.ts";

const good = {
  kind: "BindingProvider",
  apiVersion: "v1alpha1",
  providerPrettyName: "Example",
  version: "v1.5.0",
  authenticationMethods: [
    { method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL: "http://provider.test/authorize" } },
  ],
};

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
async function message(url: string): Promise<string> {
  const run = scriptedRun({ env: { HOME: "/nowhere" } });
  assert.equal(await runCli("kubectl-bind", [url], run.context), 1);
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
  return (response) => response.end(JSON.stringify({ ...good, ...change }));
}

for (const [name, answer, expected] of cases) {
  test(`a provider that answers with ${name} gets one clear message`, async (t) => {
    assert.match(await message(await serve(t, answer)), expected);
  });
}

test("an unreachable provider and what is no address are told apart", async (t) => {
  const url = new URL(await serve(t, () => {}));
  assert.match(await message("provider.test/export"), /must start with http/);
  assert.match(await message("http://nowhere.invalid/export"), /host name/);
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
