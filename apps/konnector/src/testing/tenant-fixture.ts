/** Prepares a test file of the whole agent: two clusters, and on the provider a tenant to which APIs are exported. Nothing is bound. */
import { after } from "node:test";
import type { APIServiceExportSpec, PermissionClaim } from "@klutch/api";
import { TcpProxy } from "@klutch/kube-testing";
import { providerSecret, putKubeconfig } from "./credentials.ts";
import { type Pair, pairOf } from "./pair.ts";
import { exportCrd, grantClusterWide, installCrd, offer, prepareTenant } from "./provider-side.ts";
import { startFixture, type TestApi, type Fixture } from "./fixture.ts";

/** An API with what its export says of it. */
export interface ExportedApi extends TestApi {
  /** Default: informer scope Namespaced, and all else as the CRD has it. */
  readonly exportSpec?: Partial<APIServiceExportSpec> | undefined;
  /** Default none. */
  readonly claims?: readonly PermissionClaim[] | undefined;
}

/** The state in which the file's tests begin. */
export interface TenantFixtureOptions {
  /** Installed on the provider, open to the tenant, and exported to it. */
  readonly exported?: readonly ExportedApi[] | undefined;
  /** Installed on the provider and open to the tenant, not exported. */
  readonly installed?: readonly TestApi[] | undefined;
  /** Further resources that are open to the tenant. Default none. */
  readonly open?: readonly string[] | undefined;
  /** True when the tenant also has rights in the whole provider cluster, as consumer scope Cluster gives them. Default false. */
  readonly clusterWide?: boolean | undefined;
  /** True when the file starts a real backend, so that nothing else answers namespaces. Default false. */
  readonly backend?: boolean | undefined;
}

/** Two clusters with a tenant, and the short questions about them. */
export interface TenantFixture extends Pick<Fixture, "consumer" | "provider">, Pair {
  /** The tenant's, as it is in its Secret on the provider. */
  readonly kubeconfig: string;
  /** Ended after the file's last test, the last one first, and the clusters after all of them. */
  readonly cleanup: AsyncDisposableStack;
}

/** Starts it for the test file that calls this at its top; it ends with the file. */
export async function startTenantFixture(options: TenantFixtureOptions = {}): Promise<TenantFixture> {
  const { exported = [], installed = [], open = [], clusterWide = false, backend = false } = options;
  const cleanup = new AsyncDisposableStack();
  after(() => cleanup.disposeAsync());
  const { consumer, provider } = cleanup.use(await startFixture({ backend }));
  const apis = [...exported, ...installed];
  for (const { crd } of apis) await installCrd(provider, crd);
  const kubeconfig = await prepareTenant(provider, [...apis.map(({ type }) => type.plural), ...open]);
  if (clusterWide) await grantClusterWide(provider);
  for (const { crd, exportSpec, claims } of exported) await exportCrd(provider, crd, exportSpec, claims);
  return { consumer, provider, ...pairOf({ consumer, provider }), kubeconfig, cleanup };
}

/** A tenant of a control plane with a real backend, which its test starts. */
export interface GatedFixture extends TenantFixture {
  /** The way to the provider. `--external-address` of the backend is its URL. */
  readonly gate: TcpProxy;
  /** Returns the kubeconfig with the way through the gate. */
  readonly gated: (kubeconfig: string) => string;
}

/** Starts it; `api` is exported, and offered by a template. */
export async function startGatedFixture(api: ExportedApi): Promise<GatedFixture> {
  const fixture = await startTenantFixture({ exported: [api], backend: true });
  const { provider, cleanup } = fixture;
  const gate = cleanup.use(await TcpProxy.start(provider.url));
  const gated = (kubeconfig: string): string => kubeconfig.replace(provider.url, gate.url);
  const kubeconfig = gated(fixture.kubeconfig);
  await putKubeconfig(provider, providerSecret, kubeconfig);
  await offer(provider, api.type);
  return { ...fixture, kubeconfig, gate, gated };
}
