/** Our Crossplane packages, pushed to a local registry and installed from it. Their programs are processes here, so they hold none. */
import { join } from "node:path";
import { artefact, klutchVersion, packageType, parseRegistry, type Registry } from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import type { ResourceType } from "@klutch/kube-core";
import { buildXpkg, pushImage } from "@klutch/oci";
import { legacy, packagesOf, xrdsOf } from "@klutch/services";
import type { SandboxBase, SandboxContext } from "../context.ts";
import { applyAll, waitForConditions } from "../objects.ts";
import { keepProcess } from "../supervise.ts";

/** Path of the registry under its address. */
const folder = "klutch";

const xrds: ResourceType = {
  group: "apiextensions.crossplane.io",
  version: "v1",
  plural: "compositeresourcedefinitions",
  kind: "CompositeResourceDefinition",
  namespaced: false,
};

/** Starts the registry. It must run before core, which takes packages for missing otherwise. */
export async function startRegistry(base: SandboxBase): Promise<Registry> {
  const address = `127.0.0.1:${base.state.ports.registry}`;
  await keepProcess(base, {
    name: "registry",
    command: await resolveEngine("crane"),
    args: ["registry", "serve", "--address", address],
    logFile: join(base.state.folder, "registry.log"),
    ready: `http://${address}/v2/`,
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

/** Installs the packages. Function and Provider are named as the Configuration's dependencies would be. */
export async function installPackages(context: SandboxContext, registry: Registry): Promise<void> {
  const install = packagesOf(context.generations, registry).map(({ kind, name, artefactName }) => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    metadata: { name },
    spec: { package: artefact(artefactName, { registry }), packagePullPolicy: "IfNotPresent" },
  }));
  await applyAll(context.clusters.controlPlane.client, install);
}

/** Waits until the packages are Healthy, which takes a running provider, and their claims are offered. */
export async function packagesHealthy(context: SandboxContext, registry: Registry): Promise<void> {
  const { client } = context.clusters.controlPlane;
  for (const { kind, name } of packagesOf(context.generations, registry)) {
    const type = packageType(kind, `${kind.toLowerCase()}s`);
    await waitForConditions(client, type, { name }, ["Installed", "Healthy"], 180_000);
    context.progress.say(`${kind} ${name} is Installed and Healthy`);
  }
  for (const generation of context.generations) {
    // A composite that is the claim is there at once; others are offered.
    const conditions = generation === legacy ? ["Established", "Offered"] : ["Established"];
    for (const { metadata } of xrdsOf(generation))
      await waitForConditions(client, xrds, metadata, conditions);
  }
}
