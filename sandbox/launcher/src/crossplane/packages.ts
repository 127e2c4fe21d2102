/** Our Crossplane packages, pushed to a local registry and installed from it. Their programs are processes here, so they hold none. */
import { artefact, klutchVersion, parseRegistry, type Registry } from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { buildXpkg, pushImage } from "@klutch/oci";
import { type CrossplanePackage, packagesOf } from "@klutch/services";
import { join } from "node:path";
import { applyAll } from "../objects.ts";
import { keepProcess } from "../supervise.ts";
import type { SandboxBase, SandboxContext } from "../context.ts";

/** Path of the registry under its address. */
const folder = "klutch";

/** Starts the registry. It must run before core, which takes packages for missing otherwise. */
export async function startRegistry(base: SandboxBase): Promise<Registry> {
  const { state } = base;
  const address = `127.0.0.1:${state.ports.registry}`;
  await keepProcess(base, {
    name: "registry",
    command: await resolveEngine("crane"),
    args: ["registry", "serve", "--address", address],
    logFile: join(state.folder, "registry.log"),
    ready: async () => (await fetch(`http://${address}/v2/`)).ok,
  });
  const registry = parseRegistry(`${address}/${folder}`);
  for (const { artefactName, documents } of packagesOf(base.generations, registry))
    await pushImage(buildXpkg(documents.map(formatYaml).join("---\n")), {
      registry: `http://${address}`,
      repository: `${folder}/${artefactName}`,
      tag: klutchVersion,
    });
  return registry;
}

/** Installs the packages, and gives them back. Function and Provider are named as the Configuration's dependencies would be. */
export async function installPackages(
  context: SandboxContext,
  registry: Registry,
): Promise<readonly CrossplanePackage[]> {
  const packages = packagesOf(context.generations, registry);
  const install = ({ kind, name, artefactName }: CrossplanePackage): DynamicObject => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    metadata: { name },
    spec: { package: artefact(artefactName, { registry }), packagePullPolicy: "IfNotPresent" },
  });
  await applyAll(context.clusters.controlPlane.client, packages.map(install));
  return packages;
}
