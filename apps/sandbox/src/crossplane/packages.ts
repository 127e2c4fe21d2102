/** Our Crossplane packages, pushed to a local registry and installed from it. */
import { join } from "node:path";
import {
  configurationMeta,
  configurationName,
  functionMeta,
  functionName,
  klutchVersion,
  namespacedConfigurationMeta,
  namespacedConfigurationName,
  packageRepositories,
  providerCrds,
  providerMeta,
  providerName,
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
  readonly repository: string;
  readonly meta: typeof configurationMeta;
}

/** One for each generation. */
export function configurationsOf(generations: readonly Generation[]): readonly ConfigurationPackage[] {
  const { configuration, namespacedConfiguration } = packageRepositories;
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
  const push = (repository: string, documents: readonly unknown[]): Promise<void> =>
    pushImage(buildXpkg(documents.map(formatYaml).join("---\n")), {
      registry: `http://${address}`,
      repository,
      tag: klutchVersion,
    });
  await push(packageRepositories.function, [functionMeta]);
  await push(packageRepositories.provider, [providerMeta, ...providerCrds]);
  for (const { generation, repository, meta } of configurationsOf(base.generations))
    await push(repository, [meta(address), ...xrdsOf(generation), ...compositionsOf(generation)]);
  return address;
}

/** Installs the packages. Function and Provider are named as the Configuration's dependencies would be. */
export async function installPackages(context: SandboxContext, registry: string): Promise<void> {
  const install = (kind: string, name: string, repository: string): DynamicObject => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    metadata: { name },
    spec: { package: `${registry}/${repository}:${klutchVersion}`, packagePullPolicy: "IfNotPresent" },
  });
  await applyAll(context.clusters.controlPlane.client, [
    install("Function", functionName, packageRepositories.function),
    install("Provider", providerName, packageRepositories.provider),
    ...configurationsOf(context.generations).map(({ name, repository }) =>
      install("Configuration", name, repository),
    ),
  ]);
}
