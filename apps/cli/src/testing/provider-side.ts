/** The provider's side as a backend leaves it, made by hand so that these tests need no backend. */
import {
  apiServiceBindingCrd,
  type APIServiceExport,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  bindCrds,
  binderName,
  binderRules,
  type BindingResponse,
  type PermissionClaim,
} from "@klutch/api";
import { namespaces, roleBindings, roles, serviceAccounts } from "@klutch/kube-core";
import { formatKubeconfig } from "@klutch/kube";
import {
  accountConfig,
  installKinds,
  namespaceObject,
  roleBindingObject,
  roleObject,
  serviceAccountObject,
  type TestCluster,
} from "@klutch/kube-testing";

/** Serves the kinds that a backend's cluster serves. */
export async function prepareProvider(provider: TestCluster): Promise<void> {
  await installKinds(provider.client, bindCrds);
}

/** Serves the one kind that a konnector installs when it starts. */
export async function prepareConsumer(consumer: TestCluster): Promise<void> {
  await installKinds(consumer.client, [apiServiceBindingCrd]);
}

/** A tenant with the rights of the shipped role, and its kubeconfig. */
export async function createTenant(provider: TestCluster, namespace: string): Promise<string> {
  const { client } = provider;
  await client.create(namespaces, namespaceObject(namespace));
  const account = { namespace, name: binderName };
  await client.create(serviceAccounts, serviceAccountObject(account));
  await client.create(roles, roleObject(account, binderRules));
  await client.create(roleBindings, roleBindingObject(account, { kind: "Role", name: binderName }, account));
  return formatKubeconfig({ ...(await accountConfig(provider, account)), namespace });
}

/** Permission claims in the template of every API of these tests. */
export const claims: readonly PermissionClaim[] = [
  { group: "", resource: "secrets", version: "v1", selector: { owner: "Provider" }, required: true },
  { group: "", resource: "configmaps", version: "v1", selector: { owner: "Consumer" } },
];

/** Answers every request of the namespace as a backend does, until disposed. `refused` APIs fail with that message. */
export function answerRequests(
  provider: TestCluster,
  namespace: string,
  refused: Readonly<Record<string, string>> = {},
): AsyncDisposable {
  return answerEach(provider, namespace, (request) => answer(provider, request, refused));
}

/** Calls `reply` for every request of the namespace, one after the other, until disposed. */
export function answerEach(
  provider: TestCluster,
  namespace: string,
  reply: (request: APIServiceExportRequest) => Promise<void>,
): AsyncDisposable {
  const controller = new AbortController();
  const { signal } = controller;
  const run = async (): Promise<void> => {
    // A watch without a version begins with what exists.
    for await (const event of provider.client.watch<APIServiceExportRequest>(apiServiceExportRequests, {
      namespace,
      signal,
    })) {
      if (event.type === "ADDED") await reply(event.object);
    }
  };
  const running = run().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return {
    async [Symbol.asyncDispose]() {
      controller.abort(new Error("the test is over"));
      await running;
    },
  };
}

async function answer(
  provider: TestCluster,
  request: APIServiceExportRequest,
  refused: Readonly<Record<string, string>>,
): Promise<void> {
  const { namespace = "", name = "" } = request.metadata;
  let status: object = { phase: "Succeeded" };
  for (const { resource, group = "" } of request.spec.resources) {
    const terminalMessage = refused[resource];
    if (terminalMessage === undefined) {
      const options = { fieldManager: "backend", force: true };
      await provider.client.apply(apiServiceExports, exportOf(namespace, resource, group), options);
    } else status = { phase: "Failed", terminalMessage };
  }
  await provider.client.mergePatch(
    apiServiceExportRequests,
    { namespace, name },
    { status },
    {
      subresource: "status",
    },
  );
}

function exportOf(namespace: string, resource: string, group: string): APIServiceExport {
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace, name: `${resource}.${group}` },
    spec: {
      group,
      names: { kind: resource.slice(0, -1), plural: resource },
      scope: "Namespaced",
      informerScope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema }],
      permissionClaims: claims,
    },
  };
}

/** A request for one API of the group `test.klutch.dev`. */
export function requestFor(resource: string): BindingResponse["requests"][number] {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportRequest",
    metadata: { name: `${resource}.test.klutch.dev` },
    spec: { resources: [{ group: "test.klutch.dev", resource, permissionClaims: claims }] },
    status: {},
  };
}
