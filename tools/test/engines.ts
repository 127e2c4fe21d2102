/** Obtains the upstream servers that the tests need before the first one needs them, so that no test waits for a compiler. */
import {
  allEngineNames,
  type EngineName,
  engineNames,
  nodeEngineNames,
  resolveDebian,
  resolveEngines,
  resolveKeycloak,
  resolveNodePrograms,
} from "@klutch/engines";

const cluster: readonly EngineName[] = ["kube-apiserver", "kube-controller-manager", "etcd"];

/** By the beginning of a test file's path; everything else boots clusters. */
const needs: readonly (readonly [path: string, names: readonly EngineName[]])[] = [
  ["e2e/faults/chains/", engineNames],
  ["e2e/faults/", cluster],
  ["e2e/a8s-", [...engineNames, "provider-kubernetes"]],
  ["e2e/gitops/states", ["judges"]],
  ["e2e/gitops/", [...engineNames, "judges"]],
  ["e2e/nodes", [...engineNames, "helm", ...nodeEngineNames]],
  ["e2e/", engineNames],
  ["packages/oci/", ["crane"]],
  ["tools/charts/cluster", [...cluster, "kubectl", "crossplane", "helm"]],
  ["tools/charts/", ["helm"]],
  ["tools/release/charts", ["crane", "helm"]],
  ["packages/kube-testing/src/provider-kubernetes", [...cluster, "provider-kubernetes"]],
  ["packages/engines/src/helm", ["helm"]],
  ["packages/engines/src/node-engines", nodeEngineNames],
  ["packages/engines/", []],
  ["packages/nodes/", [...cluster, "kubectl", "crane", ...nodeEngineNames]],
  ["packages/data-servers/", []],
  ["apps/broker/", []],
];

/** What these test files need, in build order. */
export function enginesFor(files: readonly string[]): readonly EngineName[] {
  const wanted = new Set(
    files.flatMap((file) => needs.find(([path]) => file.startsWith(path))?.[1] ?? cluster),
  );
  return allEngineNames.filter((name) => wanted.has(name));
}

/** Obtains them, printing progress. */
export async function ensureEngines(files: readonly string[]): Promise<void> {
  const started = performance.now();
  const progress = (line: string): void => console.log(line);
  await resolveEngines(enginesFor(files), { progress });
  if (files.some((file) => file.includes("keycloak"))) await resolveKeycloak({ progress });
  if (files.some((file) => /^(?:apps\/broker\/src\/servers|e2e)\//.test(file)))
    for (const name of ["mariadb", "redis"] as const) await resolveDebian(name, { progress });
  if (files.some((file) => /^(?:packages\/nodes\/|e2e\/nodes)/.test(file))) {
    await resolveNodePrograms({ progress });
    await resolveDebian("busybox", { progress });
  }
  console.log(`Engines ready in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}
