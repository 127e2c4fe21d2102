/** The offline archive by way of the real command and a real registry; the images are small stand-ins, which makes no difference to either. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { klutchVersion, parseRegistry, releaseRegistry } from "@klutch/api";
import { ownProgram, reservePorts, resolveEngine, run, startProcess } from "@klutch/engines";
import { buildIndex, buildReferrer, buildXpkg, digestOf, jsonBlob } from "@klutch/oci";
import type { ReleasedImage } from "./build-images.ts";
import { chartVersion } from "../charts/chart.ts";
import { startHelm } from "../charts/testing/helm.ts";
import { atHome, minimal } from "../charts/testing/values.ts";
import { bundleNames, writeBundles } from "./bundles.ts";
import { packCharts } from "./charts.ts";
import { imageDefinitions } from "./images.ts";
import { offlineName, writeOffline } from "./offline.ts";

await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "klutch-offline-"));
stack.defer(() => rm(folder, { recursive: true }));
const reserved = stack.use(await reservePorts(1));
const address = `127.0.0.1:${reserved.ports[0]}`;
const disk = join(folder, "disk");
await mkdir(disk);
const crane = await resolveEngine("crane");
stack.use(
  await startProcess({
    name: "registry",
    command: crane,
    args: ["registry", "serve", "--address", address, "--disk", disk],
    logFile: join(folder, "registry.log"),
    ready: async () => (await fetch(`http://${address}/v2/`)).ok,
  }),
);
const running = stack.move();
after(() => running.disposeAsync());
const klutch = join(folder, "klutch");
await symlink(ownProgram("cli"), klutch);

const released = imageDefinitions(releaseRegistry).map((definition): ReleasedImage => {
  const built = (["amd64", "arm64"] as const).map((architecture) => {
    const image = buildXpkg(`${definition.name}\n`, { architecture, layers: [], config: {} });
    const document = jsonBlob({ about: definition.name, architecture }, "application/spdx+json");
    return { architecture, image, referrers: [buildReferrer(image.manifest, document)] };
  });
  return { definition, index: buildIndex(built), built };
});
const registry = parseRegistry(`${address}/team/klutch`);
const chartNames = ["klutch", "klutch-konnector"] as const;

function partition(
  lines: readonly string[],
  isFirst: (line: string) => boolean,
): readonly [readonly string[], readonly string[]] {
  return [lines.filter(isFirst), lines.filter((line) => !isFirst(line))];
}

/** Writes bundles and archive, and unpacks it as people do. */
async function unpacked(name: string): Promise<string> {
  const out = join(folder, name);
  await writeBundles({ out, registry: releaseRegistry }, released);
  await writeOffline(
    out,
    released,
    await packCharts({ out, registry: releaseRegistry, say: () => undefined }),
  );
  await run("tar", ["-xf", join(out, "offline", `${offlineName}.tar`), "-C", out]);
  return join(out, offlineName);
}

async function mirror(
  from: string,
  ...flags: readonly string[]
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return run(process.execPath, [klutch, "mirror", from, "--registry", registry, ...flags]);
}

test("the archive has the same bytes when it is written again", async () => {
  const digests = await Promise.all(
    ["first", "second"].map(async (name) => {
      await unpacked(name);
      return digestOf(await readFile(join(folder, name, "offline", `${offlineName}.tar`)));
    }),
  );
  assert.equal(digests[0], digests[1]);
});

test("everything is in the other registry, whole and with its documents, and the manifests name it there by digest", async () => {
  const out = join(folder, "bundles");
  const { stdout } = await mirror(join(folder, "first", offlineName), "--out", out);
  const references = released.map(
    ({ definition, index }) => `${registry}/${definition.name}:${klutchVersion}@${index.manifest.digest}`,
  );
  const [charts, others] = partition(stdout.trim().split("\n"), (line) => line.includes("/charts/"));
  assert.deepEqual(others.toSorted(), references.toSorted());
  assert.deepEqual(
    charts.map((line) => line.split("@")[0]),
    chartNames.map((name) => `${registry}/charts/${name}:${chartVersion}`),
  );
  for (const { definition, index, built } of released) {
    const at = `${registry}/${definition.name}`;
    assert.equal(
      (await run(crane, ["digest", `${at}:${klutchVersion}`])).stdout.trim(),
      index.manifest.digest,
    );
    await run(crane, ["validate", "--remote", `${at}:${klutchVersion}`]);
    for (const { referrers } of built)
      for (const { manifest } of referrers) await run(crane, ["manifest", `${at}@${manifest.digest}`]);
  }
  for (const name of bundleNames) {
    const text = await readFile(join(out, `${name}.yaml`), "utf8");
    assert.ok(!text.includes(releaseRegistry), name);
    for (const [reference = ""] of text.matchAll(/[^\s=]+:v\d+\.\d+\.\d+\S*/g))
      assert.ok(references.includes(reference), `${name}: ${reference}`);
  }
});

test("Helm takes the charts out of the other registry, with images of there", async () => {
  await using helm = await startHelm();
  for (const name of chartNames) {
    const values = { ...minimal[name], image: { registry } };
    const flags = [...atHome[name], "--version", chartVersion, "--plain-http"];
    const objects = await helm.template(`oci://${registry}/charts/${name}`, values, ...flags);
    assert.ok(
      JSON.stringify(objects).includes(`${registry}/${name === "klutch" ? "backend" : "konnector"}:`),
    );
    assert.ok(!JSON.stringify(objects).includes(releaseRegistry));
  }
});

test("the same once more is no problem; another content under the same tag is refused, and nothing is written", async () => {
  const from = join(folder, "first", offlineName);
  await mirror(from, "--out", join(folder, "again"));
  const [some] = released;
  const name = `${some?.definition.name}:${klutchVersion}`;
  const other = await unpacked("other");
  const target = join(folder, "other-image.tar");
  await run(crane, ["pull", `${registry}/${released[1]?.definition.name}:${klutchVersion}`, target]);
  await run(crane, ["push", target, `${registry}/${name}`]);
  await assert.rejects(mirror(other, "--out", join(folder, "none")), (error) => {
    assert.ok(error instanceof Error);
    assert.match(error.message, /error: the registry http:\/\/127\.0\.0\.1:\d+ has other content under tags/);
    assert.ok(error.message.includes(`team/klutch/${name} is sha256:`));
    return true;
  });
  await assert.rejects(readFile(join(folder, "none", "install.yaml")));
});

test("an archive that was damaged on the way is refused", async () => {
  const damaged = await unpacked("damaged");
  const digest = released[0]?.index.manifest.digest ?? "";
  const path = join(damaged, "blobs", ...digest.split(":"));
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace('"schemaVersion":2', '"schemaVersion":3'));
  await assert.rejects(mirror(damaged), /has the digest sha256:[0-9a-f]{64}; it was changed or is not whole/);
});

test("a folder that is no archive, and a registry that is none, are refused by name", async () => {
  await assert.rejects(mirror(disk), /error: .*bundles cannot be read; name the folder/);
  await assert.rejects(mirror(folder), /error: .*index\.json cannot be read; the layout is not whole/);
  const wrong = run(process.execPath, [klutch, "mirror", folder, "--registry", "https://x.example.org"]);
  await assert.rejects(wrong, /error: --registry: is "https:\/\/x\.example\.org", which has a scheme/);
});
