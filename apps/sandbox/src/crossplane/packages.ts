/** Our Crossplane packages, pushed to a local registry and installed from it. */
import { join } from "node:path";
import {
  configurationMeta,
  configurationName,
  functionMeta,
  functionName,
  klutchVersion,
  packageRepositories,
  providerCrds,
  providerMeta,
  providerName,
} from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { buildXpkg, pushImage } from "@klutch/oci";
import { compositions, xrds } from "@klutch/services";
import { applyAll } from "../objects.ts";
import { keepProcess } from "../supervise.ts";
import type { SandboxBase, SandboxContext } from "../context.ts";

/** Starts the registry. It must run before core, which takes packages for missing otherwise. */
export async function startRegistry(context: SandboxBase): Promise<string> {
  const { state } = context;
  const address = `127.0.0.1:${state.ports.registry}`;
  await keepProcess(context, {
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
  await push(packageRepositories.configuration, [configurationMeta(address), ...xrds, ...compositions]);
  return address;
}

/** Installs the three packages. Function and Provider are named as the Configuration's dependencies would be. */
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
    install("Configuration", configurationName, packageRepositories.configuration),
  ]);
}
