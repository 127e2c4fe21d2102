/** The processes behind our Function and Provider packages. */
import { join } from "node:path";
import { clusterProviderConfigs, providerConfigs } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { apiVersionOf } from "@klutch/kube-core";
import { isAllowed, secretObject, serviceAccountObject, waitFor } from "@klutch/kube-testing";
import { backupConfigName, type Generation, legacy, providerConfigName } from "@klutch/services";
import { accountKubeconfig } from "../accounts.ts";
import type { CertificateFolders } from "../certificates.ts";
import { crossplaneNamespace, type SandboxBase, type SandboxContext } from "../context.ts";
import { providerAccount } from "../crossplane/runtime.ts";
import { isListening } from "../machine.ts";
import { applyAll, shippedManifests } from "../objects.ts";
import { keepApp } from "../supervise.ts";
import { backupManagerPath } from "./broker.ts";

/** Starts the composition function. It must listen before Crossplane learns its address. */
export async function startFunction(context: SandboxBase, certificates: CertificateFolders): Promise<void> {
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
  for (const { group, plural } of [providerConfigs, clusterProviderConfigs]) {
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

/** Address of a broker, its login, and its types. */
export interface BrokerAccess {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Types of data services. */
  readonly types: readonly string[];
  /** Generations of managed resources. */
  readonly generations: readonly Generation[];
}

/** Tells the provider where the broker of these types of data service and its backup manager are and how to log in. */
export async function configureProvider(
  client: KubeClient,
  { url, username, password, types, generations }: BrokerAccess,
): Promise<void> {
  const configs = generations.flatMap((generation) =>
    types.map((type) => {
      const kind = generation === legacy ? providerConfigs : clusterProviderConfigs;
      return shippedManifests("provider-configs", {
        API_VERSION: apiVersionOf(kind),
        KIND: kind.kind,
        BROKER: providerConfigName(type),
        BROKER_URL: url,
        MANAGER: backupConfigName(type),
        MANAGER_URL: `${url}${backupManagerPath}`,
      });
    }),
  );
  const login = secretObject(crossplaneNamespace, "sandbox-broker", { username, password });
  await applyAll(client, [login, ...(await Promise.all(configs)).flat()]);
}
