/** Our Crossplane packages, pushed to a local registry and installed from it. Their programs are processes here, so they hold none. */
import { klutchVersion } from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { buildXpkg, pushImage } from "@klutch/oci";
import { type CrossplanePackage, packagesOf } from "@klutch/services";
import { join } from "node:path";
import { applyAll } from "../objects.ts";
import { keepProcess } from "../supervise.ts";
import type { SandboxBase, SandboxContext } from "../context.ts";

/** Starts the registry. It must run before core, which takes packages for missing otherwise. */
export async function startRegistry(base: SandboxBase): Promise<string> {
  const { state } = base;
  const address = `127.0.0.1:${state.ports.registry}`;
  await keepProcess(base, {
    name: "registry",
    command: await resolveEngine("crane"),
    args: ["registry", "serve", "--address", address],
    logFile: join(state.folder, "registry.log"),
    ready: async () => (await fetch(`http://${address}/v2/`)).ok,
  });
  for (const { repository, documents } of packagesOf(base.generations, address))
    await pushImage(buildXpkg(documents.map(formatYaml).join("---\n")), {
      registry: `http://${address}`,
      repository,
      tag: klutchVersion,
    });
  return address;
}

/** Installs the packages, and gives them back. Function and Provider are named as the Configuration's dependencies would be. */
export async function installPackages(
  context: SandboxContext,
  registry: string,
): Promise<readonly CrossplanePackage[]> {
  const packages = packagesOf(context.generations, registry);
  const install = ({ kind, name, repository }: CrossplanePackage): DynamicObject => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    metadata: { name },
    spec: { package: `${registry}/${repository}:${klutchVersion}`, packagePullPolicy: "IfNotPresent" },
  });
  await applyAll(context.clusters.controlPlane.client, packages.map(install));
  return packages;
}
