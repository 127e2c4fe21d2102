/** Provisioning without the HTTP side, with caches of its own. */
import { type APIServiceExportTemplate, apiServiceExportTemplates, decodeBindingResponse } from "@klutch/api";
import { customResourceDefinitions, type KubeObject, namespaces } from "@klutch/kube-core";
import { type Clock, type KubeClient, systemClock } from "@klutch/kube";
import { Informer } from "@klutch/kube-runtime";
import type { TestCluster } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { createAllowedOffers } from "../authorization/allowed-offers.ts";
import { recordGrant } from "../authorization/grants.ts";
import { ExportTemplates } from "../export-templates.ts";
import { defaultLimits } from "../limits.ts";
import { type Bind, type BindParts, type BindSession, createBind } from "../provisioning/bind.ts";
import { createCredentialIssuer, type CredentialIssuer } from "../provisioning/credentials.ts";
import { byClusterKey, byIdentity, clusterKeysOf, identitiesOf } from "../provisioning/members.ts";
import type { TenantContext } from "../provisioning/tenant.ts";

/** Fixture of the tests. */
export interface Provisioning {
  readonly exportTemplates: ExportTemplates;
  /** The parts of `ensureTenant`, with the limits that hold when nothing is configured. */
  readonly tenant: TenantContext;
  /** Returns the issuer of tokens with this lifetime; undefined means that they do not expire. */
  readonly issuer: (lifetimeSeconds: number | undefined) => CredentialIssuer;
  /** Hands out credentials of an hour. */
  readonly bind: Bind;
  /** Binds `databases.example.org` for a person; gives back the kubeconfig that was handed out. */
  readonly bindDatabases: (subject: string) => Promise<string>;
  /** Aborts with the stack. */
  readonly signal: AbortSignal;
}

/** Reads as the administrator and writes with `client`. Resolves when the caches are filled. */
export async function startProvisioning(
  stack: AsyncDisposableStack,
  cluster: TestCluster,
  {
    client = cluster.client,
    clock = systemClock,
  }: { readonly client?: KubeClient; readonly clock?: Clock } = {},
): Promise<Provisioning> {
  const stop = new AbortController();
  const { signal } = stop;
  stack.defer(() => stop.abort(new Error("the tests are over")));
  const { exportTemplates, namespaceCache } = await startCaches(stack, cluster.client, signal);
  const { server, ca } = cluster.config;
  const external = { server, ca, tlsServerName: undefined };
  const issuer: Provisioning["issuer"] = (lifetimeSeconds) =>
    createCredentialIssuer({ client, external, lifetimeSeconds, clock });
  const tenant: TenantContext = {
    client,
    namespaceCache,
    prefix: "cluster",
    prettyName: "Tests",
    limits: defaultLimits,
    clock,
  };
  const offers = createAllowedOffers({ exportTemplates, mayBind: undefined, signal });
  const writer = { client, clock, logger: silentLogger, mayBeAbsent: true };
  // A person without a name in RBAC leaves no record, as after a login that an earlier release sealed.
  const record: BindParts["record"] = (namespace, session, offer) =>
    recordGrant(writer, namespace, session, offer, { signal });
  const bind = createBind({ offers, tenant, credentials: issuer(3600), signal, record });
  const bindDatabases: Provisioning["bindDatabases"] = async (subject) => {
    const answer = await bind(sessionOf(subject), [{ resource: "databases", group: "example.org" }]);
    return Buffer.from(decodeBindingResponse(answer).kubeconfig, "base64").toString();
  };
  return { exportTemplates, tenant, issuer, bind, bindDatabases, signal };
}

/** A person who logged in for the app cluster `abc123`. */
export function sessionOf(subject: string): BindSession {
  return { issuer: "https://idp.example.org", subject, clusterId: "abc123", sessionId: "s" };
}

async function startCaches(
  stack: AsyncDisposableStack,
  client: KubeClient,
  signal: AbortSignal,
): Promise<{ readonly exportTemplates: ExportTemplates; readonly namespaceCache: Informer<KubeObject> }> {
  const templates = stack.use(
    new Informer<APIServiceExportTemplate>({ client, type: apiServiceExportTemplates }),
  );
  const crds = stack.use(new Informer<KubeObject>({ client, type: customResourceDefinitions }));
  const namespaceCache = stack.use(
    new Informer<KubeObject>({
      client,
      type: namespaces,
      metadataOnly: true,
      indexes: { [byIdentity]: identitiesOf, [byClusterKey]: clusterKeysOf },
    }),
  );
  for (const informer of [templates, crds, namespaceCache]) informer.start({ signal });
  await Promise.all([templates.whenSynced(), crds.whenSynced(), namespaceCache.whenSynced()]);
  const scopes = { consumerScope: "Namespaced", clusterScopedIsolation: "Prefixed" } as const;
  const exportTemplates = new ExportTemplates({ templates, crds, scopes });
  return { exportTemplates, namespaceCache };
}
