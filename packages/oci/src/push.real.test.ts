import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { reservePorts, resolveEngine, startProcess } from "@klutch/engines";
import { OciError } from "./errors.ts";
import { buildIndex, buildReferrer, digestOf, jsonBlob } from "./image.ts";
import { writeLayout } from "./layout.ts";
import { pushLayout } from "./push-layout.ts";
import { pushImage } from "./push.ts";
import { readLayout } from "./read-layout.ts";
import { buildXpkg } from "./xpkg.ts";

const run = promisify(execFile);

test("crane validates what was pushed; a registry that refuses is named in the error", async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-registry-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { ports } = stack.use(await reservePorts(1));
  const address = await startRegistry(stack, folder);
  const crane = await resolveEngine("crane");
  const image = buildXpkg("apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\n");
  const target = { registry: `http://${address}`, repository: "klutch/x", tag: "v1" };
  await pushImage(image, target);
  await pushImage(image, target);
  await run(crane, ["validate", "--remote", `${address}/klutch/x:v1`]);
  const { stdout } = await run(crane, ["digest", `${address}/klutch/x:v1`]);
  assert.equal(stdout.trim(), image.manifest.digest);
  await assert.rejects(pushImage(image, { ...target, registry: `http://127.0.0.1:${ports[0]}` }), (error) => {
    assert.ok(error instanceof OciError);
    assert.match(error.message, /cannot be reached/);
    return true;
  });
});

test("a layout is pushed with its documents, twice, and neither damaged nor over another release", async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-layout-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const registry = await startRegistry(stack, folder);
  const layoutOf = async (text: string): Promise<string> => {
    const image = buildXpkg(text);
    const index = buildIndex([{ architecture: "amd64", image }]);
    const document = jsonBlob({ about: text }, "application/spdx+json");
    const target = join(folder, digestOf(Buffer.from(text)).slice(-8));
    await writeLayout(target, [
      { name: "v1", image: index },
      { image: buildReferrer(image.manifest, document) },
    ]);
    return target;
  };
  const layout = await layoutOf("kind: Function\n");
  const target = { registry: `http://${registry}`, repository: "klutch/x" };
  const [pushed] = await pushLayout(layout, target);
  assert.deepEqual(await pushLayout(layout, target), [pushed]);
  const crane = await resolveEngine("crane");
  await run(crane, ["validate", "--remote", `${registry}/klutch/x:v1`]);
  assert.equal((await run(crane, ["digest", `${registry}/klutch/x:v1`])).stdout.trim(), pushed?.digest);
  const { images, documents } = await readLayout(layout);
  assert.equal(images[0]?.image.manifest.digest, pushed?.digest);
  const [subject = ""] = documents.keys();
  assert.match(
    (await run(crane, ["ls", `${registry}/klutch/x`])).stdout,
    new RegExp(subject.replace(":", "-")),
  );

  const other = await layoutOf("kind: Provider\n");
  await assert.rejects(
    pushLayout(other, target),
    /klutch\/x:v1 is sha256:\w+ there and sha256:\w+ here\. Release another version/,
  );
  await pushLayout(other, { ...target, replace: true });
  const [blob = ""] = await readdir(join(layout, "blobs", "sha256"));
  await writeFile(join(layout, "blobs", "sha256", blob), "changed");
  await assert.rejects(
    pushLayout(layout, target),
    /has the digest sha256:\w+; it was changed or is not whole/,
  );
  await rm(join(layout, "blobs", "sha256", blob));
  await assert.rejects(pushLayout(layout, target), /cannot be read; the layout is not whole/);
  await writeFile(join(layout, "index.json"), '{"manifests":[{"digest":"sha256:../../x","mediaType":"m"}]}');
  await assert.rejects(readLayout(layout), /a descriptor has the digest "sha256:\.\.\/\.\.\/x", expected/);
});

async function startRegistry(stack: AsyncDisposableStack, folder: string): Promise<string> {
  const { ports } = stack.use(await reservePorts(1));
  const address = `127.0.0.1:${ports[0]}`;
  const disk = join(folder, "registry");
  await mkdir(disk);
  stack.use(
    await startProcess({
      name: "registry",
      command: await resolveEngine("crane"),
      args: ["registry", "serve", "--address", address, "--disk", disk],
      logFile: join(folder, "registry.log"),
      ready: async () => (await fetch(`http://${address}/v2/`)).ok,
    }),
  );
  return address;
}
