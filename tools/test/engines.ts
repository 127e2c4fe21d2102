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
  resolveNodePrograms,
  whyNoNodes,
} from "@klutch/engines";

const cluster: readonly EngineName[] = ["kube-apiserver", "kube-controller-manager", "etcd"];

/** Servers by the beginning of a test file's path; all other files boot clusters. */
const needs: readonly (readonly [path: string, names: readonly EngineName[]])[] = [
  ["proof/e2e/faults/chains/", engineNames],
  ["proof/e2e/faults/", cluster],
  ["proof/e2e/a8s-", [...engineNames, "provider-kubernetes"]],
  ["proof/e2e/gitops/states", ["judges"]],
  ["proof/e2e/gitops/", [...engineNames, "judges"]],
  ["proof/e2e/install-on-nodes", [...engineNames, "helm", ...nodeEngineNames]],
  ["proof/e2e/", engineNames],
  ["packages/oci/", ["crane"]],
  ["tools/charts/node", [...cluster, "crane", "helm", ...nodeEngineNames]],
  ["tools/charts/cluster", [...cluster, "kubectl", "crossplane", "helm"]],
  ["tools/charts/", ["helm"]],
  ["tools/docs/install", ["helm"]],
  ["tools/docs/site", []],
  ["tools/release/charts", ["crane", "helm"]],
  ["proof/kube-testing/src/provider-kubernetes", [...cluster, "provider-kubernetes"]],
  ["sandbox/engines/src/helm", ["helm"]],
  ["sandbox/engines/src/node-engines", nodeEngineNames],
  ["sandbox/engines/", []],
  ["sandbox/launcher/src/nodes/", [...cluster, "kubectl", "crane", "crossplane", "helm", ...nodeEngineNames]],
  ["sandbox/nodes/", [...cluster, "kubectl", "crane", ...nodeEngineNames]],
  ["sandbox/data-servers/", []],
  ["sandbox/broker/", []],
];

/** Returns the servers that these test files need, in build order. */
export function enginesFor(files: readonly string[]): readonly EngineName[] {
  const wanted = new Set(
    files.flatMap((file) => needs.find(([path]) => file.startsWith(path))?.[1] ?? cluster),
  );
  return allEngineNames.filter((name) => wanted.has(name));
}

/** Tests on real nodes, which skip themselves where there can be none. */
const onNodes =
  /^(?:sandbox\/nodes\/|sandbox\/launcher\/src\/nodes\/|proof\/e2e\/install-on-nodes|sandbox\/engines\/src\/node-engines|tools\/charts\/node)/;

/** Returns the test files that will run here: building the servers of the others would take minutes for nothing. */
async function runnable(files: readonly string[]): Promise<readonly string[]> {
  if (!files.some((file) => onNodes.test(file))) return files;
  const refusal = await whyNoNodes({ folder: tmpdir(), clusters: 1 });
  if (refusal === undefined) return files;
  console.log(`Tests on real nodes will be skipped: ${refusal}.`);
  return files.filter((file) => !onNodes.test(file));
}

/** Obtains them, printing progress. Packages are downloaded while the compiler works. */
export async function ensureEngines(chosen: readonly string[]): Promise<void> {
  const started = performance.now();
  const files = await runnable(chosen);
  const packages = obtainPackages(files);
  // A failure is reported below, after the build.
  packages.catch(() => undefined);
  await resolveEngines(enginesFor(files), { progress });
  await packages;
  console.log(`Engines ready in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

async function obtainPackages(files: readonly string[]): Promise<void> {
  if (files.some((file) => file.includes("keycloak"))) await resolveKeycloak({ progress });
  if (files.some((file) => /^(?:sandbox\/broker\/src\/drivers|proof\/e2e)\//.test(file)))
    for (const name of ["mariadb", "redis"] as const) await resolveDebian(name, { progress });
  if (files.some((file) => onNodes.test(file))) {
    await resolveNodePrograms({ progress });
    await resolveDebian("busybox", { progress });
  }
}

function progress(line: string): void {
  console.log(line);
}
