import assert from "node:assert/strict";
import { test } from "node:test";
import { klutchVersion, releaseDownloads } from "@klutch/api";
import { formatYaml, parseYaml } from "@klutch/kube";
import { recordAt, recordsAt, textAt } from "@klutch/kube-core";
import { commandNames } from "../build/commands.ts";
import { allPlatforms, archiveName, platformName } from "./executables-archive.ts";
import { krewPlugin } from "./krew.ts";

const sums = new Map(
  allPlatforms.flatMap((platform, index) =>
    commandNames.map((name) => [archiveName(name, platform), `${index}`.repeat(64)]),
  ),
);

test("the manifest keeps krew's rules", () => {
  const plugin = krewPlugin(sums);
  assert.deepEqual(parseYaml(formatYaml(plugin)), plugin);
  const spec = (name: string): string => textAt(plugin, "spec", name) ?? "";
  assert.match(plugin.metadata.name ?? "", /^[a-z][a-z0-9-]*$/);
  assert.match(spec("version"), /^v\d+\.\d+\.\d+$/);
  assert.ok(spec("shortDescription").length <= 50 && !/[\n.]/.test(spec("shortDescription")));
  const platforms = recordsAt(plugin, "spec", "platforms");
  const selected = platforms.map((each) => {
    const { os, arch } = recordAt(each, "selector", "matchLabels");
    return `${String(os)}/${String(arch)}`;
  });
  assert.deepEqual(selected, allPlatforms.map(platformName));
  for (const [index, { uri, sha256, bin, files }] of platforms.entries()) {
    assert.ok(String(uri).startsWith(`${releaseDownloads}/${klutchVersion}/executables/kubectl-bind_`));
    assert.match(String(sha256), /^[0-9a-f]{64}$/);
    assert.equal(bin, selected[index]?.startsWith("windows/") ? "kubectl-bind.exe" : "kubectl-bind");
    assert.ok(recordsAt(files).some(({ from, to }) => from === bin && to === "."));
  }
});

test("without an archive there is no manifest", () => {
  const some = new Map([...sums].filter(([path]) => !path.includes("kubectl-bind_v1.6.0_darwin_arm64")));
  assert.throws(() => krewPlugin(some), /needs kubectl-bind_\S+_darwin_arm64\S+ for darwin\/arm64/);
});
