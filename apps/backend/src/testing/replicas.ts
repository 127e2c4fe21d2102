/** Backends as processes behind one URL, with an identity provider, at a control plane that offers databases. */
import {
  anyObject,
  type BackendProcess,
  crdObject,
  leaseCluster,
  startBackendProcess,
  TcpProxy,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { startIdentityProvider } from "./identity-provider.ts";
import { oidcClient } from "./login-fixture.ts";
import { databases, installProvider, offerDatabases } from "./provider.ts";

/** Cluster, identity provider and Service of the replicas. */
export interface ReplicaFixture {
  readonly cluster: TestCluster;
  /** URL of the identity provider. */
  readonly issuer: string;
  /** Plays the Service: it leads nowhere until it is routed to a replica. */
  readonly service: TcpProxy;
  /** Starts a replica; it ends with the stack. */
  readonly start: (name: string, ...flags: readonly string[]) => Promise<BackendProcess>;
}

/** Prepares it in a cluster with this name, by default with the identity provider of the tests; everything ends with the stack. */
export async function prepareReplicas(
  stack: AsyncDisposableStack,
  name: string,
  startIssuer: typeof startIdentityProvider = startIdentityProvider,
): Promise<ReplicaFixture> {
  const cluster = stack.use(await leaseCluster({ name }));
  const crd = crdObject(databases, { properties: { spec: anyObject, status: anyObject }, hasStatus: true });
  await installProvider(cluster.client, [crd]);
  await offerDatabases(cluster.client);
  const service = stack.use(await TcpProxy.start("http://127.0.0.1:1"));
  const callbackUrl = `${service.url}/callback`;
  const issuer = await startIssuer(stack, { ...oidcClient, callbackUrl });
  const common = [
    `--oidc-issuer-url=${issuer}`,
    `--oidc-issuer-client-id=${oidcClient.id}`,
    `--oidc-issuer-client-secret=${oidcClient.secret}`,
    `--oidc-callback-url=${callbackUrl}`,
    `--cookie-signing-key=${Buffer.alloc(32, 7).toString("base64")}`,
    "--lease-namespace=default",
  ];
  const start: ReplicaFixture["start"] = async (replica, ...flags) => {
    const options = { name: replica, servesLogin: false, flags: [...common, ...flags] };
    return stack.use(await startBackendProcess(cluster, options));
  };
  return { cluster, issuer, service, start };
}

/** Has the Service lead to this replica, also for connections that are kept alive: these would go on to the one before. */
export async function switchTo(service: TcpProxy, { url }: Pick<BackendProcess, "url">): Promise<void> {
  service.route(url);
  service.cut();
  await waitFor("the replica behind the Service", () =>
    fetch(`${service.url}/export`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
}
