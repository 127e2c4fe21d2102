/** Obtains the upstream servers that the tests need before the first one needs them, so that no test waits for a compiler. */
import { tmpdir } from "node:os";
import {
  allEngineNames,
  type EngineName,
  engineNames,
  nodeEngineNames,
  resolveDebian,
  resolveEngines,
  resolveKeycloak,
  resolveMoto,
  resolveNodePrograms,
  resolveOpensearch,
  versionedServers,
  whyNoNodes,
} from "@klutch/engines";
import { chosenKubernetes } from "@klutch/kube-testing";
import { codeWords, rowsIn } from "../generate/page.ts";

const groups: Readonly<Record<string, readonly string[]>> = {
  cluster: ["kube-apiserver", "kube-controller-manager", "etcd"],
  usual: engineNames,
  nodes: nodeEngineNames,
};

const rows = rowsIn("tools/test/engines.md");

/** Returns the servers and groups of them that engines.md names for a test file. */
export function needsOf(file: string): readonly string[] {
  const row = rows.find(([path = ""]) => codeWords(path).some((start) => file.startsWith(start)));
  return row === undefined ? ["cluster"] : codeWords(row[1] ?? "");
}

/** Returns the servers that these test files need, in build order. */
export function enginesFor(files: readonly string[]): readonly EngineName[] {
  const wanted = new Set(files.flatMap(needsOf).flatMap((name) => groups[name] ?? [name]));
  return allEngineNames.filter((name) => wanted.has(name));
}

/** Returns true for tests on real nodes, which skip themselves where there can be none. */
function isOnNodes(file: string): boolean {
  return needsOf(file).includes("nodes");
}

/** Returns the test files that will run here: building the servers of the others would take minutes for nothing. */
async function runnable(files: readonly string[]): Promise<readonly string[]> {
  if (!files.some(isOnNodes)) return files;
  const refusal = await whyNoNodes({ folder: tmpdir(), clusters: 1 });
  if (refusal === undefined) return files;
  console.log(`Tests on real nodes will be skipped: ${refusal}.`);
  return files.filter((file) => !isOnNodes(file));
}

/** Obtains them, printing progress. Packages are downloaded while the compiler works. */
export async function ensureEngines(chosen: readonly string[]): Promise<void> {
  const started = performance.now();
  const files = await runnable(chosen);
  const packages = obtainPackages(files);
  // A failure is reported below, after the build.
  packages.catch(() => undefined);
  await obtainEngines(enginesFor(files));
  await packages;
  console.log(`Engines ready in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

/** Obtains the servers, and those of the versions of Kubernetes that the clusters will have. */
async function obtainEngines(names: readonly EngineName[]): Promise<void> {
  await resolveEngines(names, { progress });
  const servers = names.filter((name) => versionedServers.includes(name));
  const { controlPlane, appCluster } = chosenKubernetes();
  for (const kubernetes of new Set([controlPlane, appCluster]))
    await resolveEngines(servers, { progress, kubernetes });
}

async function obtainPackages(files: readonly string[]): Promise<void> {
  if (files.some((file) => file.includes("keycloak"))) await resolveKeycloak({ progress });
  if (files.some((file) => file.includes("foreign-operator-s3"))) await resolveMoto({ progress });
  if (files.some((file) => /^sandbox\/broker\/src\/drivers\/(?:search|logme2|services)\./.test(file)))
    await resolveOpensearch({ progress });
  if (files.some((file) => /^(?:sandbox\/broker\/src\/drivers|proof\/e2e)\//.test(file)))
    for (const name of ["mariadb", "redis"] as const) await resolveDebian(name, { progress });
  if (files.some(isOnNodes)) {
    await resolveNodePrograms({ progress });
    await resolveDebian("busybox", { progress });
  }
}

function progress(line: string): void {
  console.log(line);
}
