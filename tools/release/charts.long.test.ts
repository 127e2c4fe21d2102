import assert from "node:assert/strict";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { artefact, parseRegistry, releaseRegistry } from "@klutch/api";
import { reservePorts, resolveEngine, run, startProcess } from "@klutch/engines";
import { chartVersion } from "../charts/chart.ts";
import { startHelm } from "../charts/testing/helm.ts";
import { atHome, minimal } from "../charts/testing/values.ts";
import { repositoryRoot } from "../root.ts";
import { packCharts } from "./charts.ts";

const say = (): void => undefined;

test("charts are packed twice with the same bytes, and Helm's linter passes the archives", async () => {
  await using helm = await startHelm();
  const pack = async (name: string): Promise<readonly string[]> => {
    const packed = await packCharts({ out: join(helm.folder, name), registry: releaseRegistry, say });
    return packed.map(({ path }) => path);
  };
  const [first, second] = [await pack("first"), await pack("second")];
  assert.deepEqual(
    first.map((path) => basename(path)),
    [`klutch-${chartVersion}.tgz`, `klutch-konnector-${chartVersion}.tgz`],
  );
  for (const [index, path] of first.entries())
    assert.deepEqual(await readFile(second[index] ?? ""), await readFile(path), path);
  await helm.run("lint", "--strict", ...first);
});

test("an archive of an older version does not stay beside those of this one", async () => {
  await using helm = await startHelm();
  const charts = join(helm.folder, "charts");
  await mkdir(charts);
  await writeFile(join(charts, "klutch-0.0.1.tgz"), "old");
  const packed = await packCharts({ out: helm.folder, registry: releaseRegistry, say });
  assert.deepEqual(
    (await readdir(charts)).toSorted(),
    [...packed.map(({ path }) => basename(path)), "klutch", "klutch-konnector"].toSorted(),
  );
});

test("Helm renders the charts out of the registry where `release:push` put them, with its images", async () => {
  await using helm = await startHelm();
  await using reserved = await reservePorts(1);
  const address = `127.0.0.1:${reserved.ports[0]}`;
  const disk = join(helm.folder, "registry");
  await mkdir(disk);
  await using _registry = await startProcess({
    name: "registry",
    command: await resolveEngine("crane"),
    args: ["registry", "serve", "--address", address, "--disk", disk],
    logFile: join(helm.folder, "registry.log"),
    ready: async () => (await fetch(`http://${address}/v2/`)).ok,
  });
  const registry = parseRegistry(`${address}/klutch`);
  const signed: string[] = [];
  const sign = async (layout: string, digest: string, name: string): Promise<void> => {
    await access(join(layout, "index.json"));
    signed.push(`${name}:${chartVersion}@${digest}`);
  };
  const packed = await packCharts({ out: helm.folder, registry, sign, say });
  for (const name of ["images", "packages"]) await mkdir(join(helm.folder, name));
  const push = [join(repositoryRoot, "tools", "release", "push.ts"), "--from", helm.folder, "--plain-http"];
  const { stdout } = await run(process.execPath, [...push, "--registry", registry]);
  const references = packed.map(({ image: { name, image } }) => `${name}@${image.manifest.digest}`);
  assert.deepEqual(
    stdout.trim().split("\n"),
    references.map((reference) => `${registry}/${reference}`),
  );
  assert.deepEqual(signed, references);
  const fromRegistry = ["--version", chartVersion, "--plain-http"];
  for (const name of ["klutch", "klutch-konnector"] as const) {
    const chart = `oci://${registry}/charts/${name}`;
    const objects = JSON.stringify(
      await helm.template(chart, minimal[name], ...atHome[name], ...fromRegistry),
    );
    assert.ok(objects.includes(artefact(name === "klutch" ? "backend" : "konnector", { registry })));
    assert.ok(!objects.includes(releaseRegistry));
  }
});
