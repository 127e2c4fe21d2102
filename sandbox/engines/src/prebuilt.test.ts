import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { engineDefinition } from "./catalog.ts";
import { reservePorts } from "./ports.ts";
import { archiveName, fetchPrebuilt, pinnedArchives, type PinnedArchive } from "./prebuilt.ts";
import { resolveEngines } from "./resolve.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "klutch-prebuilt-"));
after(() => rm(folder, { recursive: true, force: true }));

const kubernetes = pinnedArchives.get("kubernetes");
assert.ok(kubernetes !== undefined);
const name = archiveName(kubernetes, process) ?? "";
const names = ["kube-apiserver", "kube-controller-manager", "kubectl"] as const;

/** An archive as the project publishes it, with programs that say their name. */
async function makeArchive(): Promise<Buffer> {
  const top = await mkdtemp(join(folder, "archive-"));
  const programs = join(top, "kubernetes", "server", "bin");
  await mkdir(programs, { recursive: true });
  for (const program of [...names, "kubelet"]) await writeFile(join(programs, program), `${program}\n`);
  await run("tar", ["-czf", join(top, name), "-C", top, "kubernetes"]);
  return readFile(join(top, name));
}

const archive = await makeArchive();
const pinned: PinnedArchive = {
  ...kubernetes,
  sha512: { [name]: createHash("sha512").update(archive).digest("hex") },
};

async function listen(server: Server): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

async function attempt(mirrorUrl: string, wanted: PinnedArchive | undefined) {
  const target = await mkdtemp(join(folder, "target-"));
  const said: string[] = [];
  const targets = names.map((engine) => ({ engine: engineDefinition(engine), folder: join(target, engine) }));
  for (const each of targets) await mkdir(each.folder);
  const say = (line: string): void => void said.push(line);
  const fetched = await fetchPrebuilt(targets, { archive: wanted, mirrorUrl, say });
  return { fetched, said, target };
}

test("the published archives are pinned for the version that is built, for both architectures", () => {
  assert.equal(kubernetes.version, engineDefinition("kube-apiserver").version);
  for (const arch of ["x64", "arm64"]) {
    const file = archiveName(kubernetes, { platform: "linux", arch }) ?? "";
    assert.match(kubernetes.sha512[file] ?? "", /^[0-9a-f]{128}$/);
  }
  assert.equal(archiveName(kubernetes, { platform: "darwin", arch: "arm64" }), undefined);
});

test("servers are fetched from an archive with the pinned checksum, and nothing is built", async () => {
  const asked: string[] = [];
  const url = await listen(
    createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end(archive);
    }),
  );
  const go = join(folder, "go");
  // This `go` answers the questions before a build; building would fail.
  await writeFile(go, `#!/bin/sh\n[ "$1" = env ] && printf 'go1.99.0\\n${folder}/b\\n${folder}/m\\n'\n`);
  await chmod(go, 0o755);
  const cacheFolder = join(folder, "cache");
  const archives = new Map([["kubernetes", pinned]]);
  const programs = await resolveEngines(names, { cacheFolder, mirrorUrl: url, archives, goCommand: go });
  for (const program of names) {
    assert.equal(await readFile(programs.get(program) ?? "", "utf8"), `${program}\n`);
    assert.equal((await stat(programs.get(program) ?? "")).mode & 0o777, 0o755);
  }
  assert.deepEqual(asked, [`/${name}`]);
});

test("an archive that is not what was pinned is refused, and nothing of it stays", async () => {
  const url = await listen(createServer((_request, response) => response.end("something else")));
  await assert.rejects(attempt(url, pinned), { code: "ChecksumMismatch", message: /KLUTCH_ENGINES_URL=off/ });
  const left = await readdir(folder, { recursive: true });
  assert.deepEqual(
    left.filter((path) => path.includes(".download")),
    [],
  );
});

test("a host that is absent or refuses is tried once, and the servers are built", async () => {
  let requests = 0;
  const url = await listen(
    createServer((_request, response) => {
      requests++;
      response.writeHead(403).end();
    }),
  );
  const refused = await attempt(url, pinned);
  assert.equal(refused.fetched, false);
  assert.match(refused.said.join(), /it answers 403\); building instead/);
  assert.equal(requests, 1);
  // The port is given back at once, so no server listens there.
  const reserved = await reservePorts(1);
  await reserved[Symbol.asyncDispose]();
  const absent = await attempt(`http://127.0.0.1:${reserved.ports[0]}`, pinned);
  assert.equal(absent.fetched, false);
  assert.match(absent.said.join(), /ECONNREFUSED.*; building instead/);
});

test("a host that never answers is given up after a moment", async () => {
  const url = await listen(createServer(() => undefined));
  const { fetched, said } = await attempt(url, pinned);
  assert.equal(fetched, false);
  assert.match(said.join(), /it does not answer/);
});

test("no server is asked when the download is switched off, or nothing is published", async () => {
  for (const [mirrorUrl, wanted] of [
    ["off", pinned],
    ["http://127.0.0.1:1", undefined],
  ] as const) {
    const { fetched, said } = await attempt(mirrorUrl, wanted);
    assert.deepEqual([fetched, said], [false, []]);
  }
});
