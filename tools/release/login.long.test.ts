/**
 * Runs `klutch mirror` and `release:push` into a registry that wants tokens, with credentials stored by `docker login`, and by a password on standard
 * input. The registry is a real one behind a door that asks for tokens; that the door is as it should be is shown by crane, which passes it with
 * the same configuration.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ownProgram, reservePorts, resolveEngine, run, startProcess } from "@klutch/engines";
import { buildIndex, buildXpkg, writeLayout } from "@klutch/oci";
import { repositoryRoot } from "../root.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-login-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const [behind = 0, door = 0] = stack.use(await reservePorts(2)).ports;
const crane = await resolveEngine("crane");
await mkdir(join(folder, "disk"));
stack.use(
  await startProcess({
    name: "registry",
    command: crane,
    args: ["registry", "serve", "--address", `127.0.0.1:${behind}`, "--disk", join(folder, "disk")],
    logFile: join(folder, "registry.log"),
    ready: async () => (await fetch(`http://127.0.0.1:${behind}/v2/`)).ok,
  }),
);

const password = "hunter2-hunter2";
const basic = Buffer.from(`me:${password}`).toString("base64");
const registry = `127.0.0.1:${door}`;

/** A token names the scope that it is for. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "", `http://${registry}`);
  const { authorization } = request.headers;
  if (url.pathname === "/token") {
    const isMe = authorization === `Basic ${basic}`;
    response.writeHead(isMe ? 200 : 401);
    response.end(JSON.stringify({ token: `for-${url.searchParams.get("scope") ?? ""}` }));
    return;
  }
  const [, repository = ""] = /^\/v2\/(.+)\/(?:blobs|manifests|tags|referrers)\//.exec(url.pathname) ?? [];
  if (repository === "" || authorization?.startsWith(`Bearer for-repository:${repository}:`) !== true) {
    const challenge = `Bearer realm="http://${registry}/token",service="door",scope="repository:${repository}:pull,push"`;
    request.resume();
    response.writeHead(401, { "www-authenticate": challenge }).end();
    return;
  }
  const { method, headers } = request;
  const onward = ask({ host: "127.0.0.1", port: behind, path: request.url, method, headers }, (found) => {
    response.writeHead(found.statusCode ?? 502, found.headers);
    found.pipe(response);
  });
  request.pipe(onward);
}

const server = createServer(answer);
const listening = Promise.withResolvers<void>();
server.listen(door, "127.0.0.1", listening.resolve);
await listening.promise;
stack.defer(() => {
  server.closeAllConnections();
  server.close();
});

/** Imitates a release's folder, with one small package. */
const release = join(folder, "release");
const index = buildIndex([{ architecture: "amd64", image: buildXpkg("kind: Function\n") }]);
await writeLayout(release, [{ name: "function-klutch:v1.6.0", image: index }]);
await mkdir(join(release, "bundles"));
await writeLayout(join(folder, "built", "packages", "function-klutch"), [{ name: "v1.6.0", image: index }]);
for (const empty of ["images", "charts"]) await mkdir(join(folder, "built", empty));

const configured = join(folder, "docker");
await mkdir(configured);
await writeFile(join(configured, "config.json"), JSON.stringify({ auths: { [registry]: { auth: basic } } }));

interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

/** A program of ours, with nothing of this machine's user. */
async function ours(
  program: string,
  args: readonly string[],
  options: { readonly docker?: string; readonly input?: string } = {},
): Promise<Said> {
  const env = { PATH: "/usr/bin:/bin", HOME: folder, DOCKER_CONFIG: options.docker };
  const running = run(process.execPath, [program, ...args], { env, cwd: folder });
  running.child.stdin?.end(options.input ?? "");
  return running;
}

const mirror = (to: string, ...more: readonly string[]): readonly string[] => [
  "mirror",
  release,
  "--registry",
  `${registry}/${to}`,
  ...more,
];
/** The command goes by the name that it is started as. */
const klutch = join(folder, "klutch");
await symlink(ownProgram("cli"), klutch);
const releasePush = join(repositoryRoot, "tools", "release", "push.ts");
const byPassword = ["--username", "me", "--password-stdin"];

async function digestAt(repository: string): Promise<string> {
  const env = { PATH: "/usr/bin:/bin", HOME: folder, DOCKER_CONFIG: configured };
  const { stdout } = await run(crane, ["digest", `${registry}/${repository}:v1.6.0`], { env });
  return stdout.trim();
}

test("both programs log in as docker login did, or by a password on standard input", async () => {
  await ours(klutch, mirror("one"), { docker: configured });
  await ours(klutch, mirror("two", ...byPassword), { input: `${password}\n` });
  const push = ["--plain-http", "--from", join(folder, "built"), "--registry"];
  const pushed = await ours(releasePush, [...push, `${registry}/three`], { docker: configured });
  await ours(releasePush, [...push, `${registry}/four`, ...byPassword], { input: password });
  for (const path of ["one", "two", "three", "four"])
    assert.equal(await digestAt(`${path}/function-klutch`), index.manifest.digest, path);
  assert.ok(pushed.stdout.includes(`${registry}/three/function-klutch:v1.6.0@${index.manifest.digest}`));
});

test("a user who has not logged in, or with another password, is told what to do, and no password is repeated", async () => {
  const refused = async (words: RegExp, running: Promise<Said>): Promise<void> => {
    await assert.rejects(running, (error) => {
      assert.ok(error instanceof Error);
      assert.match(error.message, words);
      assert.ok(!error.message.includes("wrong-password"));
      return true;
    });
  };
  const login = new RegExp(`http://${registry} wants a login: run docker login ${registry}`);
  await refused(login, ours(klutch, mirror("five")));
  const args = mirror("five", ...byPassword);
  await refused(
    /gives none for repository:five\/function-klutch:pull,push: HTTP 401/,
    ours(klutch, args, { input: "wrong-password" }),
  );
  await refused(/--password-stdin: standard input is empty/, ours(klutch, args));
  await refused(
    /--username and --password-stdin must be used together/,
    ours(klutch, mirror("five", "--username", "me")),
  );
});
