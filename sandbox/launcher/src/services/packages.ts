/** The processes behind our Function and Provider packages. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { clusterProviderConfigs, providerConfigs } from "@klutch/api";
import {
  apiVersionOf,
  type DynamicObject,
  type ObjectRef,
  type ResourceType,
  valueAt,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import { backupConfigName, type Generation, legacy, providerConfigName } from "@klutch/services";
import { accountKubeconfig, ensureAccount } from "../accounts.ts";
import type { CertificateFolders } from "../certificates.ts";
import { providerAccount } from "../crossplane/runtime.ts";
import { isListening } from "../listening.ts";
import { appProcess } from "../node-process.ts";
import { applyAll } from "../objects.ts";
import { keepProcess } from "../supervise.ts";
import { crossplaneNamespace, type SandboxBase, type SandboxContext } from "../context.ts";
import { backupManagerPath } from "./broker.ts";

/** Starts the composition function. It must listen before Crossplane learns its address. */
export async function startFunction(context: SandboxBase, certificates: CertificateFolders): Promise<void> {
  const { state } = context;
  const port = state.ports.function;
  await keepProcess(
    context,
    appProcess("function-klutch", {
      args: [
        `--address=127.0.0.1:${port}`,
        "--health-probe-bind-address=127.0.0.1:0",
        `--tls-certs-dir=${certificates.functionServer}`,
      ],
      logFile: join(state.folder, "function.log"),
      ready: () => isListening(port),
    }),
  );
}

/** Starts the provider once the RBAC manager has given its account the rights of the package. */
export async function startProvider(context: SandboxContext): Promise<void> {
  const { state, clusters } = context;
  const { client } = clusters.controlPlane;
  const account = { namespace: crossplaneNamespace, name: providerAccount };
  await ensureAccount(client, account.namespace, account.name);
  // The RBAC manager writes a binding first and its role a while later, on a busy machine a minute.
  const rights = [providerConfigs, clusterProviderConfigs];
  for (const type of rights)
    await waitFor(`the provider's right on ${type.plural}`, () => mayList(client, account, type), {
      timeoutMs: 300_000,
      intervalMs: 300,
    });
  const folder = join(state.folder, "provider");
  await mkdir(folder, { recursive: true });
  const kubeconfig = await accountKubeconfig(clusters.controlPlane, account, folder, context);
  const probe = `127.0.0.1:${state.ports.providerProbe}`;
  await keepProcess(
    context,
    appProcess("provider-anynines", {
      args: [`--health-probe-bind-address=${probe}`],
      env: { KUBECONFIG: kubeconfig },
      logFile: join(folder, "provider.log"),
      ready: async () => (await fetch(`http://${probe}/readyz`)).ok,
    }),
  );
}

/** Asks the API server whether a service account may list a kind (SubjectAccessReview). */
async function mayList(client: KubeClient, account: ObjectRef, type: ResourceType): Promise<boolean> {
  const answer = await client.request({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: `system:serviceaccount:${account.namespace}:${account.name}`,
        resourceAttributes: { verb: "list", group: type.group, resource: type.plural },
      },
    },
  });
  return valueAt(answer, "status", "allowed") === true;
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
  await applyAll(client, [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: crossplaneNamespace, name: brokerSecret },
      data: {
        username: Buffer.from(username).toString("base64"),
        password: Buffer.from(password).toString("base64"),
      },
    },
    ...generations.flatMap((generation) => {
      const kind = generation === legacy ? providerConfigs : clusterProviderConfigs;
      return types.flatMap((type) => configsOf(kind, type, url));
    }),
  ]);
}

/** Returns the ProviderConfigs of a type's broker and its backup manager. */
function configsOf(kind: ResourceType, type: string, url: string): readonly DynamicObject[] {
  return [
    providerConfig(kind, providerConfigName(type), {
      url,
      serviceType: "servicebroker",
      healthCheckEndpoint: "/healthz",
    }),
    providerConfig(kind, backupConfigName(type), {
      url: `${url}${backupManagerPath}`,
      serviceType: "backupmanager",
      healthCheckEndpoint: "/v2/healthy",
    }),
  ];
}

const brokerSecret = "sandbox-broker";

function providerConfig(type: ResourceType, name: string, spec: object): DynamicObject {
  const key = (field: string): unknown => ({
    secretRef: { namespace: crossplaneNamespace, name: brokerSecret, key: field },
  });
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { name },
    spec: {
      ...spec,
      providerCredentials: { source: "Secret", username: key("username"), password: key("password") },
    },
  };
}
