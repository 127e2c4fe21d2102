/** Our Crossplane packages, pushed to a local registry and installed from it. */
import { join } from "node:path";
import {
  artefact,
  type ArtefactName,
  configurationMeta,
  configurationName,
  functionMeta,
  functionName,
  klutchVersion,
  namespacedConfigurationMeta,
  namespacedConfigurationName,
  packageArtefacts,
  parseRegistry,
  providerCrds,
  providerMeta,
  providerName,
  type Registry,
} from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { buildXpkg, pushImage } from "@klutch/oci";
import { compositionsOf, type Generation, legacy, xrdsOf } from "@klutch/services";
import { applyAll } from "../objects.ts";
import { keepProcess } from "../supervise.ts";
import type { SandboxBase, SandboxContext } from "../context.ts";

/** The Configuration of a generation. */
interface ConfigurationPackage {
  readonly generation: Generation;
  /** Name that it is installed under. */
  readonly name: string;
  readonly repository: ArtefactName;
  readonly meta: typeof configurationMeta;
}

/** One for each generation. */
export function configurationsOf(generations: readonly Generation[]): readonly ConfigurationPackage[] {
  const { configuration, namespacedConfiguration } = packageArtefacts;
  return generations.map((generation) =>
    generation === legacy
      ? { generation, name: configurationName, repository: configuration, meta: configurationMeta }
      : {
          generation,
          name: namespacedConfigurationName,
          repository: namespacedConfiguration,
          meta: namespacedConfigurationMeta,
        },
  );
}

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
  const push = (name: ArtefactName, documents: readonly unknown[]): Promise<void> =>
    pushImage(buildXpkg(documents.map(formatYaml).join("---\n")), {
      registry: `http://${address}`,
      repository: `${folder}/${name}`,
      tag: klutchVersion,
    });
  await push(packageArtefacts.function, [functionMeta]);
  await push(packageArtefacts.provider, [providerMeta, ...providerCrds]);
  for (const { generation, repository, meta } of configurationsOf(base.generations))
    await push(repository, [meta(registry), ...xrdsOf(generation), ...compositionsOf(generation)]);
  return registry;
}

/** Installs the packages. Function and Provider are named as the Configuration's dependencies would be. */
export async function installPackages(context: SandboxContext, registry: Registry): Promise<void> {
  const install = (kind: string, name: string, repository: ArtefactName): DynamicObject => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    metadata: { name },
    spec: { package: artefact(repository, { registry }), packagePullPolicy: "IfNotPresent" },
  });
  await applyAll(context.clusters.controlPlane.client, [
    install("Function", functionName, packageArtefacts.function),
    install("Provider", providerName, packageArtefacts.provider),
    ...configurationsOf(context.generations).map(({ name, repository }) =>
      install("Configuration", name, repository),
    ),
  ]);
}
