/** Our Crossplane packages, pushed to a local registry and installed from it. Their programs are processes here, so the packages hold none. */
import { join } from "node:path";
import * as api from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { formatYaml, type KubeClient } from "@klutch/kube";
import { apiVersionOf, type ResourceType } from "@klutch/kube-core";
import { isAllowed, secretObject, serviceAccountObject, waitFor } from "@klutch/kube-testing";
import { buildXpkg, pushImage } from "@klutch/oci";
import * as services from "@klutch/services";
import { accountKubeconfig, crossplaneNamespace, type SandboxBase, type SandboxContext } from "../context.ts";
import { isListening } from "../machine.ts";
import { applyAll, shippedManifests, waitForConditions } from "../objects.ts";
import { backupManagerPath } from "../services/broker.ts";
import { keepApp, keepProcess } from "../supervise.ts";
import { type Certificates, providerAccount } from "./runtime.ts";

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
export async function startRegistry(base: SandboxBase): Promise<api.Registry> {
  const address = `127.0.0.1:${base.state.ports.registry}`;
  await keepProcess(base, {
    name: "registry",
    command: await resolveEngine("crane"),
    args: ["registry", "serve", "--address", address],
    logFile: join(base.state.folder, "registry.log"),
    ready: `http://${address}/v2/`,
  });
  const registry = api.parseRegistry(`${address}/${folder}`);
  for (const { artefactName, documents } of services.packagesOf(base.generations, registry))
    await pushImage(buildXpkg(documents.map(formatYaml).join("---\n")), {
      registry: `http://${address}`,
      repository: `${folder}/${artefactName}`,
      tag: api.klutchVersion,
    });
  return registry;
}

/** Installs the packages. Function and Provider are named as the Configuration's dependencies would be. */
export async function installPackages(context: SandboxContext, registry: api.Registry): Promise<void> {
  const install = services.packagesOf(context.generations, registry).map(({ kind, name, artefactName }) => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    metadata: { name },
    spec: { package: api.artefact(artefactName, { registry }), packagePullPolicy: "IfNotPresent" },
  }));
  await applyAll(context.clusters.controlPlane.client, install);
}

/** Waits until the packages are Healthy, which takes a running provider, and their claims are offered. */
export async function packagesHealthy(context: SandboxContext, registry: api.Registry): Promise<void> {
  const { client } = context.clusters.controlPlane;
  for (const { kind, name } of services.packagesOf(context.generations, registry)) {
    const type = api.packageType(kind, `${kind.toLowerCase()}s`);
    await waitForConditions(client, type, { name }, ["Installed", "Healthy"]);
    context.progress.say(`${kind} ${name} is Installed and Healthy`);
  }
  for (const generation of context.generations) {
    // A composite that is the claim is there at once; others are offered.
    const conditions = generation === services.legacy ? ["Established", "Offered"] : ["Established"];
    for (const { metadata } of services.xrdsOf(generation))
      await waitForConditions(client, xrds, metadata, conditions);
  }
}

/** Starts the composition function. It must listen before Crossplane learns its address. */
export async function startFunction(context: SandboxBase, certificates: Certificates): Promise<void> {
  const port = context.state.ports.function;
  await keepApp(context, "function-klutch", {
    args: [
      `--address=127.0.0.1:${port}`,
      "--health-probe-bind-address=127.0.0.1:0",
      `--tls-certs-dir=${certificates.functionServer}`,
    ],
    logFile: join(context.state.folder, "function.log"),
    ready: () => isListening(port),
  });
}

/** Starts the provider once the RBAC manager has given its account the rights of the package. */
export async function startProvider(context: SandboxContext): Promise<void> {
  const { controlPlane } = context.clusters;
  const { client } = controlPlane;
  const account = { namespace: crossplaneNamespace, name: providerAccount };
  const user = `system:serviceaccount:${account.namespace}:${account.name}`;
  await applyAll(client, [serviceAccountObject(account)]);
  // The RBAC manager writes a binding first and its role a while later, on a busy machine a minute.
  for (const { group, plural } of [api.providerConfigs, api.clusterProviderConfigs]) {
    const mayList = (): Promise<boolean> =>
      isAllowed(client, user, { verb: "list", group, resource: plural });
    const options = { timeoutMs: 300_000, intervalMs: 300 };
    await waitFor(`the provider's right on ${plural}`, mayList, options);
  }
  const folder = join(context.state.folder, "provider");
  const probe = `127.0.0.1:${context.state.ports.providerProbe}`;
  await keepApp(context, "provider-anynines", {
    args: [`--health-probe-bind-address=${probe}`],
    env: { KUBECONFIG: await accountKubeconfig(controlPlane, account, folder) },
    logFile: join(folder, "provider.log"),
    ready: `http://${probe}/readyz`,
  });
}

/** Tells the provider where the broker of these types of data service and its backup manager are and how to log in. */
export async function configureProvider(
  client: KubeClient,
  url: string,
  login: { readonly username: string; readonly password: string },
  types: readonly string[],
  generations: readonly services.Generation[],
): Promise<void> {
  const configs = generations.flatMap((generation) =>
    types.map((type) => {
      const kind = generation === services.legacy ? api.providerConfigs : api.clusterProviderConfigs;
      return shippedManifests("provider-configs", {
        API_VERSION: apiVersionOf(kind),
        KIND: kind.kind,
        BROKER: services.providerConfigName(type),
        BROKER_URL: url,
        MANAGER: services.backupConfigName(type),
        MANAGER_URL: `${url}${backupManagerPath}`,
      });
    }),
  );
  const secret = secretObject(crossplaneNamespace, "sandbox-broker", login);
  await applyAll(client, [secret, ...(await Promise.all(configs)).flat()]);
}
