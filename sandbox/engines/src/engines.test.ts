import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { modulesFolder } from "./build.ts";
import { engineDefinition, engineDefinitions, kubernetesVersions, versionedServers } from "./catalog.ts";
import { requireDiskSpace } from "./disk.ts";
import { resolveEngine, resolveEngines } from "./resolve.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-engines-"));
after(() => rm(folder, { recursive: true, force: true }));

/** A `go` that says what the test wants: only a fake fails on demand. */
async function fakeGo(name: string, script: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

/** Prints a script that answers the questions asked before a build; `build` is shell text that finds the program's path in $out. */
function goScript(build: string): string {
  return `case "$1" in
  env) printf 'go1.99.0\\n${folder}/build-cache\\n${folder}/module-cache\\n';;
  list) echo some/package;;
  *) while [ "$1" != "-o" ]; do shift; done; out=$2; ${build};;
esac`;
}

test("without Go the error says which engine needs which version, before anything is built", async () => {
  const cacheFolder = join(folder, "no-go");
  await assert.rejects(
    resolveEngines(["etcd", "crane"], { cacheFolder, goCommand: join(folder, "no-such-go") }),
    {
      code: "GoMissing",
      message: /etcd has to be built, but Go does not run here\. Install Go 1\.\d+ or newer/,
    },
  );
});

test("an old Go is named before anything is built", async () => {
  const goCommand = await fakeGo("old-go", "echo go1.20.3");
  await assert.rejects(resolveEngine("crane", { cacheFolder: join(folder, "old-go-cache"), goCommand }), {
    code: "GoTooOld",
    message: /crane needs Go 1\.\d+ or newer to build; found go1\.20\.3/,
  });
});

test("a disk without room is named before anything is built", async () => {
  const planned = { folder: join(folder, "small"), sizeMiB: 1e9, moreMiB: 0 };
  await assert.rejects(requireDiskSpace([planned]), {
    code: "DiskFull",
    message: /needs 976562\.5 GiB more on the disk of .*small, which has \d+\.\d GiB free; make room/,
  });
  await requireDiskSpace([{ ...planned, sizeMiB: 1 }]);
});

test("a build that fails shows the compiler's words and leaves nothing in the cache", async () => {
  const goCommand = await fakeGo(
    "bad-go",
    goScript('echo some/package >&2; echo "no network here" >&2; exit 1'),
  );
  const cacheFolder = join(folder, "cache");
  await assert.rejects(resolveEngine("crane", { cacheFolder, goCommand }), {
    code: "BuildFailed",
    message: /building crane v\S+ failed[^\n]*\nno network here$/,
  });
  const left = await readdir(join(cacheFolder, "engines", "crane"));
  // The lock's file stays.
  assert.deepEqual(
    left.filter((name) => !name.endsWith(".mutex")),
    [],
  );
});

test("servers of one module are built by one call of the compiler, which says how far it is", async () => {
  const log = join(folder, "calls");
  const build = `shift 2; echo "$@" >> ${log}; for p in "$@"; do echo built > $out/$(basename $p); done`;
  const goCommand = await fakeGo("group-go", goScript(build));
  const said: string[] = [];
  const names = ["kube-apiserver", "kube-controller-manager", "kubectl"] as const;
  const options = { cacheFolder: join(folder, "group"), goCommand };
  const programs = await resolveEngines(names, { ...options, progress: (line) => said.push(line) });
  for (const name of names) assert.equal(await readFile(programs.get(name) ?? "", "utf8"), "built\n");
  assert.equal(
    await readFile(log, "utf8"),
    "k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kubectl\n",
  );
  assert.ok(said.every((line) => line.startsWith("kube-apiserver, kube-controller-manager, kubectl v1.")));
});

test("two processes' worth of callers build an engine once, and the second learns that it waits", async () => {
  const log = join(folder, "builds");
  const script = goScript(`echo x >> ${log}; sleep 0.5; echo built > "$out"`);
  const options = {
    cacheFolder: join(folder, "shared"),
    goCommand: await fakeGo("slow-go", script),
  };
  const said: string[] = [];
  const progress = (line: string): void => void said.push(line);
  const paths = await Promise.all([1, 2, 3].map(() => resolveEngine("crane", { ...options, progress })));
  assert.equal(new Set(paths).size, 1);
  assert.equal(await readFile(log, "utf8"), "x\n");
  assert.ok(said.some((line) => line.includes("waiting")));
});

test("a half-made folder of a killed process is removed, not used", async () => {
  const goCommand = await fakeGo("quick-go", goScript('echo built > "$out"'));
  const options = { cacheFolder: join(folder, "half"), goCommand };
  const program = await resolveEngine("crane", options);
  const target = dirname(program);
  await rm(target, { recursive: true });
  await mkdir(`${target}.partial`);
  await writeFile(join(`${target}.partial`, "crane"), "half");
  assert.equal(await resolveEngine("crane", options), program);
  assert.equal(await readFile(program, "utf8"), "built\n");
  assert.ok((await readdir(dirname(target))).every((name) => !name.includes(".partial")));
});

test("every engine has the version that its go.mod pins", async () => {
  // Dex is pinned by a commit of its release, because its release tags are no Go module versions; a program of ours pins others only.
  const programOf = new Map<string, string>([["coredns", "github.com/coredns/coredns"]]);
  const others = kubernetesVersions
    .slice(1)
    .flatMap((version) => versionedServers.map((name) => engineDefinition(name, version)));
  for (const engine of [...engineDefinitions, ...others]) {
    const { name, module, version } = engine;
    const goPackage = programOf.get(name) ?? engine.package;
    if (name === "dex" || goPackage === ".") continue;
    const text = await readFile(join(modulesFolder, module, "go.mod"), "utf8");
    const pins = [...text.matchAll(/^\s*(?:require )?(\S+) (v\S+)/gm)].filter(
      ([, path = ""]) => goPackage === path || goPackage.startsWith(`${path}/`),
    );
    assert.deepEqual(
      pins.map(([, , pinned]) => pinned),
      [version],
      name,
    );
  }
});

test("Helm takes the Kubernetes that it was made with for a cluster's when it renders without one", async () => {
  const text = await readFile(join(modulesFolder, "helm", "go.mod"), "utf8");
  const [, minor] = /^\s*k8s\.io\/client-go v0\.(\d+)\./m.exec(text) ?? [];
  const settings = engineDefinition("helm").linkerSettings;
  const minors = settings.filter((setting) => setting.includes("k8sVersionMinor="));
  assert.equal(minors.length, 2);
  for (const setting of minors)
    assert.ok(setting.endsWith(`=${minor}`), `${setting}, but ${minor} is pinned`);
});
