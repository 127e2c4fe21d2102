/** Wires the whole backend: caches, controllers, login, pages. */
import {
  type APIServiceExportTemplate,
  apiServiceExportTemplates,
  clusterIdentityNamespace,
  controlPlaneIdOf,
} from "@klutch/api";
import { Hono } from "hono";
import { type Clock, type ClusterConfig, type KubeClient } from "@klutch/kube";
import { createEventRecorder, Informer, type ManagerPart } from "@klutch/kube-runtime";
import { auditComponent } from "@klutch/overview";
import type { Counter, Logger, Metrics, Tracer } from "@klutch/telemetry";
import type { BackendConfig } from "./config.ts";
import {
  type AnyInformer,
  createControlPlane,
  withoutControlPlane,
} from "./app-cluster-bindings/controller.ts";
import { type Audit, createAudit, recordRefusal, type Way } from "./audit/audit.ts";
import { tellTenants } from "./audit/tenant-events.ts";
import { createAllowedOffers } from "./authorization/allowed-offers.ts";
import { createMayAdd } from "./authorization/additions.ts";
import { createMayBind, type MayBind } from "./authorization/bind-rights.ts";
import { createIsGranted, recordGrant } from "./authorization/grants.ts";
import { createKnownGroups } from "./authorization/known-groups.ts";
import { ClaimCauses } from "./causes/claim-causes.ts";
import { type Console, createConsole } from "./console/console.ts";
import { createCaches, informersOf } from "./caches.ts";
import { createControllers } from "./controllers.ts";
import { type Cost, createCost } from "./cost/cost.ts";
import { byNamespace, type Caches, type ControllerContext, isOperators } from "./controller-context.ts";
import { createApp } from "./login/app.ts";
import { LoginFlow } from "./login/login-flow.ts";
import { createAdmission } from "./login/admission.ts";
import { createClientAddress } from "./login/client-address.ts";
import { addAppClusterRoute } from "./login/app-cluster-route.ts";
import { addConfirmRoute } from "./login/confirm-route.ts";
import { addDeviceRoutes } from "./login/device-routes.ts";
import { addNoninteractiveRoute } from "./login/noninteractive-route.ts";
import { addRenewalRoutes } from "./login/renewal-routes.ts";
import { createSealer } from "./sealed-cookie.ts";
import { ExportTemplates } from "./export-templates.ts";
import { IdentityProvider } from "./login/identity-provider.ts";
import { type BindParts, createBind, createRespond, type Respond } from "./provisioning/bind.ts";
import { createClusterKeyOf } from "./provisioning/cluster-proof.ts";
import { createConfirmation } from "./provisioning/confirmation.ts";
import { createCredentialIssuer } from "./provisioning/credentials.ts";
import { createRenewal } from "./provisioning/renewal.ts";
import { ownTenant, refuseAtLogin, type TenantIdentity, tenantFor } from "./provisioning/tenant.ts";
import { addBackchannelRoute } from "./sessions/backchannel-route.ts";
import { createEndedSessions } from "./sessions/ended-sessions.ts";
import { createSessionWeb } from "./sessions/session-web.ts";
import * as declarations from "./metrics.ts";
import { CredentialEnds } from "./states/credential-ends.ts";
import { createTenantStates } from "./states/tenant-states.ts";
import { Budgets } from "./tenants/budgets.ts";

/** Dependencies of the backend. */
export interface BackendOptions {
  readonly config: BackendConfig;
  /** Address and CA that the backend itself uses; the default of what app clusters get. */
  readonly cluster: ClusterConfig;
  readonly client: KubeClient;
  /** Client of the controllers, guarded by the lease. */
  readonly controllerClient: KubeClient;
  readonly logger: Logger;
  /** Writes the audit log. */
  readonly auditLogger: Logger;
  readonly metrics: Metrics;
  /** Default: no traces. */
  readonly tracer?: Tracer | undefined;
  readonly clock: Clock;
  /** Ends what people asked for. */
  readonly signal: AbortSignal;
}

/** A backend that is wired, not started. */
export interface Backend {
  readonly app: Hono;
  /** Returns why it should receive no requests now, or undefined. */
  problem(): string | undefined;
  /** Caches, controllers and the search for the identity provider. */
  readonly parts: readonly ManagerPart[];
  /** Ends answers that would go on for ever, so that the server can stop. */
  drain(): void;
}

export function createBackend(options: BackendOptions): Backend {
  const { config, client, controllerClient, logger, clock } = options;
  const isRbac = config.bindAuthorization === "rbac";
  const caches = createCaches(client, logger, { needsGrants: isRbac });
  const audit = tellTenants({
    audit: createAudit({ logger: options.auditLogger, metrics: options.metrics }),
    tenants: caches.tenants,
    events: createEventRecorder({ client, clock, logger, component: auditComponent }),
  });
  const mayBind = isRbac ? createMayBind({ client, clock }) : undefined;
  showSizes(options.metrics, caches);
  const templates = new Informer<APIServiceExportTemplate>({
    client,
    type: apiServiceExportTemplates,
    logger,
  });
  const { consumerScope, clusterScopedIsolation } = config;
  const scopes = { consumerScope, clusterScopedIsolation };
  const cost = createCost({ client, namespaces: caches.namespaces, logger, clock });
  const exportTemplates = new ExportTemplates({ templates, crds: caches.crds, scopes, prices: cost.prices });
  const external = {
    server: config.external.address ?? options.cluster.server,
    ca: config.external.ca ?? options.cluster.ca,
    tlsServerName: config.external.serverName,
  };
  const issuer = { external, lifetimeSeconds: config.credentialSeconds, clock };
  const web = config.servesLogin
    ? createWeb(options, caches, { exportTemplates, templates, mayBind, audit, cost }, issuer)
    : undefined;
  const ends = new CredentialEnds();
  const budgets = new Budgets({ tenants: caches.tenants, cost, clock });
  const context: ControllerContext = {
    client: controllerClient,
    caches,
    exportTemplates,
    ...scopes,
    limits: config.limits,
    canaryAnswersPerMinute: config.canaryAnswersPerMinute,
    clock,
    audit,
    isGranted: mayBind && createIsGranted({ ...recordsOf(caches), mayBind }),
    mayAdd: createMayAdd({ ...recordsOf(caches), mayBind }),
    renewalUrl: config.servesLogin ? renewalUrlFor(config) : undefined,
    credentialEnds: ends,
    budgets,
    credentials: withoutControlPlane(
      ends.remembering(
        createCredentialIssuer({ ...issuer, client: controllerClient, accounts: caches.accounts }),
      ),
      caches,
    ),
  };
  const konnectorImages = { image: config.konnectorImage, allowedPrefixes: config.allowedImagePrefixes };
  const controlPlane = config.controlPlaneMode
    ? createControlPlane({ client, context, templates, konnectorImages, logger, metrics: options.metrics })
    : undefined;
  const controllers = [
    ...createControllers(options, context, templates),
    ...(controlPlane === undefined ? [] : [controlPlane.controller]),
  ];
  const claimCauses = new ClaimCauses({ context, logger, metrics: options.metrics, tracer: options.tracer });
  const states = createTenantStates(options.metrics, {
    caches,
    ends,
    claims: () => claimCauses.states(),
    mostTenants: config.metricsTenants,
  });
  const informers = [...informersOf(caches), templates, ...(controlPlane?.informers ?? [])];
  return {
    // Without a login every path is unknown.
    app: web?.app ?? new Hono(),
    problem: () => problemOf(informers) ?? web?.identityProvider.problem,
    parts: [
      ...informers,
      ...controllers,
      ...(controlPlane === undefined ? [] : [controlPlane.rights]),
      claimCauses,
      states,
      budgets,
      ...cost.parts,
      ...(web === undefined ? [] : [probing(web.identityProvider)]),
      ...(web?.console?.parts ?? []),
    ],
    drain: () => web?.console?.close(),
  };
}

/** Returns the records by which questions about rights are answered. */
function recordsOf({
  grants,
  namespaces: namespaceCache,
}: Caches): Pick<Parameters<typeof createIsGranted>[0], "recordsIn" | "isOperators"> {
  return {
    recordsIn: (namespace) => grants.byIndex(byNamespace, namespace),
    isOperators: (namespace) => isOperators(namespaceCache.get(namespace)),
  };
}

function showSizes(metrics: Metrics, { bindings, mappings }: Caches): void {
  metrics.read(declarations.clusterBindings, () => [{ labels: {}, value: bindings.size }]);
  metrics.read(declarations.serviceNamespaces, () => [{ labels: {}, value: mappings.size }]);
}

/** Asks until the identity provider answers, so that a wrong issuer shows before the first login. */
function probing(identityProvider: IdentityProvider): ManagerPart {
  return {
    name: "identity-provider",
    runs: "process",
    start: (options: { readonly signal: AbortSignal }) => identityProvider.probe(options),
  };
}

/** Login, binding page and what they make. */
function createWeb(
  options: BackendOptions,
  caches: Caches,
  {
    exportTemplates,
    templates,
    mayBind,
    audit,
    cost,
  }: {
    readonly exportTemplates: ExportTemplates;
    readonly templates: Informer<APIServiceExportTemplate>;
    readonly mayBind: MayBind | undefined;
    readonly audit: Audit;
    readonly cost: Cost;
  },
  issuer: Omit<Parameters<typeof createCredentialIssuer>[0], "client">,
): {
  readonly app: Hono;
  readonly identityProvider: IdentityProvider;
  readonly console: Console | undefined;
} {
  const { config, client, logger, clock, signal } = options;
  const { prettyName } = config;
  const credentials = createCredentialIssuer({ ...issuer, client });
  const identityProvider = new IdentityProvider(config.oidc, clock);
  const secure = config.tls !== undefined || config.oidc.callbackUrl.startsWith("https://");
  const knownGroups = createKnownGroups({ client, clock, signal });
  const login = new LoginFlow({
    identityProvider,
    loginSealer: createSealer("login", config.cookieKeys),
    sessionSealer: createSealer("session", config.cookieKeys),
    knownGroups,
    secure,
    clock,
  });
  const sealer = createSealer("renewal", config.cookieKeys);
  const url = renewalUrlFor(config);
  const renewal = createRenewal({
    client,
    namespaceCache: caches.namespaces,
    credentials,
    sealer,
    url,
    clock,
    signal,
  });
  const tenant = {
    client,
    namespaceCache: caches.namespaces,
    prefix: config.namespacePrefix,
    prettyName,
    limits: config.limits,
    clock,
    audit,
  };
  const offers = createAllowedOffers({ exportTemplates, mayBind, signal });
  const writer = { client, clock, logger, mayBeAbsent: mayBind === undefined };
  const record: BindParts["record"] = (namespace, session, offer) =>
    recordGrant(writer, namespace, session, offer, { signal });
  const binding = { offers, tenant, credentials, signal, audit, record };
  const count = options.metrics.counter(declarations.logins);
  const respond = createRespond(binding);
  const respondBy = (way: Way): Respond => counted(respond, count.labels({ way }));
  const confirmation = createConfirmation({
    requireAllowed: (person, api) => offers.require(person, api),
    tenantFor: (identity) => tenantFor(tenant, identity),
    respond: respondBy("confirmed"),
    tickets: createSealer("ticket", config.cookieKeys),
    challenges: sealer,
    url: besideCallback(config, "confirm"),
    clock,
    audit,
  });
  const admit = (identity: TenantIdentity): void => refuseAtLogin(tenant, identity);
  const handles = createSealer("device", config.cookieKeys);
  const device = { identityProvider, offers, confirmation, admit, knownGroups, handles, clock, audit };
  const program = config.oidc.ci && ((token: string) => identityProvider.program(token));
  const appClusters = {
    client,
    audience: besideCallback(config, "bind-app-cluster"),
    respond: respondBy("token"),
  };
  const gate = { admit: createAdmission(clock), addressOf: createClientAddress(config.trustedProxies) };
  const clusterKeyOf = createClusterKeyOf({ sealer, url });
  const ended = createEndedSessions({ client, namespace: config.leaseNamespace, clock });
  const { consoleAssets: assets, consoleSeconds } = config;
  const lives = [config.sessionSeconds, assets && consoleSeconds].filter((one) => one !== undefined);
  const longestSeconds = Math.max(...lives);
  const common = { cookieKeys: config.cookieKeys, client, identityProvider, offers, knownGroups, ended };
  const pages =
    assets === undefined || consoleSeconds === undefined
      ? undefined
      : createConsole({
          ...common,
          assets,
          lifetimeSeconds: consoleSeconds,
          acts: config.consoleActs ?? false,
          caches,
          cost,
          templates,
          prettyName,
          secure,
          gate,
          audit,
          logger,
          clock,
          signal,
        });
  const sessions = createSessionWeb({
    ...common,
    lifetimeSeconds: config.sessionSeconds,
    respond: respondBy("session"),
    clusterKeyOf,
    ownTenant: (identity) => ownTenant(tenant, identity),
    requireProof: config.requireConfirmedLogin,
    url: besideCallback(config, "session"),
    secure,
    gate,
    audit,
    logger,
    clock,
  });
  const app = createApp({
    prettyName,
    login,
    offers,
    secure,
    logger,
    admit: (session) => recordRefusal(audit, { decision: "bind", asker: session }, () => admit(session)),
    addressOf: gate.addressOf,
    bind: counted(createBind(binding), count.labels({ way: "redirect" })),
    confirmation,
    requireConfirmation: config.requireConfirmedLogin,
    controlPlaneId: () => {
      const uid = caches.namespaces.get(clusterIdentityNamespace)?.metadata.uid;
      return uid === undefined ? undefined : controlPlaneIdOf(uid);
    },
    deviceUrl: () => (identityProvider.offersDevice ? besideCallback(config, "device") : undefined),
    authorizeUrl: config.oidc.authorizeUrl,
    callbackUrl: config.oidc.callbackUrl,
    allowedRedirects: config.allowedRedirects,
    clusterKeyOf,
    sessions,
    console: pages?.login,
    before: (routes) => pages?.before(routes),
    extend: (routes) => {
      addRenewalRoutes(routes, { renewal, gate, logger, audit });
      addConfirmRoute(routes, { confirmation, gate, logger });
      addDeviceRoutes(routes, { ...device, gate, logger });
      addNoninteractiveRoute(routes, {
        program,
        respond: respondBy("ci"),
        withSession: sessions?.bind,
        gate,
        logger,
      });
      addAppClusterRoute(routes, { ...appClusters, gate, logger, audit, signal });
      sessions?.addRoutes(routes);
      if (lives.length > 0)
        addBackchannelRoute(routes, {
          identityProvider,
          ended,
          lifetimeSeconds: longestSeconds,
          clock,
          gate,
          logger,
          audit,
        });
      pages?.addRoutes(routes);
    },
  });
  return { app, identityProvider, console: pages };
}

function renewalUrlFor(config: BackendConfig): string {
  return besideCallback(config, "renew");
}

/** That address is configured and reaches this backend from outside. */
function besideCallback({ oidc }: BackendConfig, name: string): string {
  return new URL(name, oidc.callbackUrl).href;
}

/** Counts the calls that succeed. */
function counted<A extends readonly unknown[], T>(
  call: (...args: A) => Promise<T>,
  counter: Counter,
): (...args: A) => Promise<T> {
  return async (...args) => {
    const result = await call(...args);
    counter.inc();
    return result;
  };
}

function problemOf(informers: readonly AnyInformer[]): string | undefined {
  const bad = informers.find((informer) => !informer.synced || informer.status().stale);
  return bad === undefined ? undefined : `the cache of ${bad.type.plural} is not up to date`;
}
