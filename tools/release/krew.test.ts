import assert from "node:assert/strict";
import { test } from "node:test";
import { klutchVersion, releaseDownloads } from "@klutch/api";
import { formatYaml, parseYaml } from "@klutch/kube";
import { archiveName, executableNames } from "./executables-archive.ts";
import { allPlatforms, platformName } from "./executables-platforms.ts";
import { krewPlugin } from "./krew.ts";

const sums = new Map(
  allPlatforms.flatMap((platform, index) =>
    executableNames.map((name) => [archiveName(name, platform), `${index}`.repeat(64)]),
  ),
);

test("the manifest keeps krew's rules", () => {
  const plugin = krewPlugin(sums);
  assert.deepEqual(parseYaml(formatYaml(plugin)), plugin);
  const { metadata, spec } = plugin;
  assert.match(metadata.name, /^[a-z][a-z0-9-]*$/);
  assert.match(spec.version, /^v\d+\.\d+\.\d+$/);
  assert.ok(spec.shortDescription.length <= 50 && !/[\n.]/.test(spec.shortDescription));
  const selected = spec.platforms.map(
    ({ selector: { matchLabels } }) => `${matchLabels.os}/${matchLabels.arch}`,
  );
  assert.deepEqual(selected, allPlatforms.map(platformName));
  for (const { uri, sha256, bin, files, selector } of spec.platforms) {
    assert.ok(uri.startsWith(`${releaseDownloads}/${klutchVersion}/executables/kubectl-bind_`), uri);
    assert.match(sha256, /^[0-9a-f]{64}$/);
    assert.equal(bin, selector.matchLabels.os === "windows" ? "kubectl-bind.exe" : "kubectl-bind");
    assert.ok(files.some(({ from, to }) => from === bin && to === "."));
  }
});

test("without an archive there is no manifest", () => {
  const some = new Map([...sums].filter(([path]) => !path.includes("kubectl-bind_v1.6.0_darwin_arm64")));
  assert.throws(() => krewPlugin(some), /needs kubectl-bind_\S+_darwin_arm64\S+ for darwin\/arm64/);
});
