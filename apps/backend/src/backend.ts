/** Wires the whole backend: caches, controllers, login, pages. */
import {
  appClusterBindingAnnotation,
  type APIServiceExportTemplate,
  apiServiceExportTemplates,
  clusterIdentityNamespace,
  controlPlaneIdOf,
  crdNameOf,
  serviceNamespaceAnnotation,
} from "@klutch/api";
import { keyOf, refOf } from "@klutch/kube-core";
import { Hono } from "hono";
import { type Clock, type ClusterConfig, type KubeClient } from "@klutch/kube";
import { Controller, Informer, type ManagerPart } from "@klutch/kube-runtime";
import type { Counter, Logger, Metrics } from "@klutch/telemetry";
import type { BackendConfig } from "./config.ts";
import {
  type AnyInformer,
  createControlPlane,
  withoutControlPlane,
} from "./app-cluster-bindings/controller.ts";
import { createAllowedOffers } from "./authorization/allowed-offers.ts";
import { createMayBind, type MayBind } from "./authorization/bind-rights.ts";
import { createIsGranted, type IsGranted, recordGrant } from "./authorization/grants.ts";
import { createKnownGroups } from "./authorization/known-groups.ts";
import { ClaimCauses } from "./causes/claim-causes.ts";
import { Heartbeats } from "./cluster-bindings/heartbeats.ts";
import { createClusterBindingReconcile } from "./cluster-bindings/reconciler.ts";
import { WithdrawnRights } from "./cluster-bindings/withdrawn-rights.ts";
import { createCaches, informersOf } from "./caches.ts";
import { byNamespace, type Caches, type ControllerContext } from "./controller-context.ts";
import { createExportRequestReconcile } from "./exports/request-reconciler.ts";
import { createExportReconcile } from "./exports/reconciler.ts";
import { createTemplateReconcile } from "./exports/template-reconciler.ts";
import { createServiceNamespaceReconcile, waitingFor } from "./service-namespaces/reconciler.ts";
import { createApp } from "./login/app.ts";
import { LoginFlow } from "./login/login-flow.ts";
import { createAdmission } from "./login/admission.ts";
import { createClientAddress } from "./login/client-address.ts";
import { addConfirmRoute } from "./login/confirm-route.ts";
import { addRenewalRoutes } from "./login/renewal-routes.ts";
import { createSealer } from "./sealed-cookie.ts";
import { ExportTemplates } from "./export-templates.ts";
import { IdentityProvider } from "./login/identity-provider.ts";
import { type BindParts, createBind, createRespond } from "./provisioning/bind.ts";
import { createClusterKeyOf } from "./provisioning/cluster-proof.ts";
import { createConfirmation } from "./provisioning/confirmation.ts";
import { createCredentialIssuer } from "./provisioning/credentials.ts";
import { createRenewal } from "./provisioning/renewal.ts";
import { refuseAtLogin, tenantFor } from "./provisioning/tenant.ts";
import { createTenantController } from "./tenants/controller.ts";
import * as declarations from "./metrics.ts";

/** Dependencies of the backend. */
export interface BackendOptions {
  readonly config: BackendConfig;
  /** Address and CA that the backend itself uses; the default of what app clusters get. */
  readonly cluster: ClusterConfig;
  readonly client: KubeClient;
  /** Client of the controllers, guarded by the lease. */
  readonly controllerClient: KubeClient;
  readonly logger: Logger;
  readonly metrics: Metrics;
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
}

export function createBackend(options: BackendOptions): Backend {
  const { config, client, controllerClient, logger, clock } = options;
  const isRbac = config.bindAuthorization === "rbac";
  const caches = createCaches(client, logger, { withGrants: isRbac });
  const mayBind = isRbac ? createMayBind({ client, clock }) : undefined;
  showSizes(options.metrics, caches);
  const templates = new Informer<APIServiceExportTemplate>({
    client,
    type: apiServiceExportTemplates,
    logger,
  });
  const { consumerScope, clusterScopedIsolation } = config;
  const scopes = { consumerScope, clusterScopedIsolation };
  const exportTemplates = new ExportTemplates({ templates, crds: caches.crds, scopes });
  const external = {
    server: config.external.address ?? options.cluster.server,
    ca: config.external.ca ?? options.cluster.ca,
    tlsServerName: config.external.serverName,
  };
  const issuer = { external, lifetimeSeconds: config.credentialSeconds, clock };
  const web = config.servesLogin
    ? createWeb(options, caches, { exportTemplates, mayBind }, issuer)
    : undefined;
  const context: ControllerContext = {
    client: controllerClient,
    caches,
    exportTemplates,
    ...scopes,
    limits: config.limits,
    clock,
    isGranted: mayBind && isGrantedIn(caches, mayBind),
    renewalUrl: config.servesLogin ? renewalUrlFor(config) : undefined,
    credentials: withoutControlPlane(
      createCredentialIssuer({ ...issuer, client: controllerClient, accounts: caches.accounts }),
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
  const informers = [...informersOf(caches), templates, ...(controlPlane?.informers ?? [])];
  return {
    // Without a login every path is unknown.
    app: web?.app ?? new Hono(),
    problem: () => problemOf(informers) ?? web?.identityProvider.problem,
    parts: [
      ...informers,
      ...controllers,
      ...(controlPlane === undefined ? [] : [controlPlane.rights]),
      new ClaimCauses({ context, logger, metrics: options.metrics }),
      ...(web === undefined ? [] : [probing(web.identityProvider)]),
    ],
  };
}

function isGrantedIn({ grants, namespaces: namespaceCache }: Caches, mayBind: MayBind): IsGranted {
  return createIsGranted({
    recordsIn: (namespace) => grants?.byIndex(byNamespace, namespace) ?? [],
    isOperators: (namespace) =>
      namespaceCache.get(namespace)?.metadata.annotations?.[appClusterBindingAnnotation] !== undefined,
    mayBind,
  });
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
    mayBind,
  }: { readonly exportTemplates: ExportTemplates; readonly mayBind: MayBind | undefined },
  issuer: Omit<Parameters<typeof createCredentialIssuer>[0], "client">,
): { readonly app: Hono; readonly identityProvider: IdentityProvider } {
  const { config, client, logger, clock, signal } = options;
  const { prettyName } = config;
  const credentials = createCredentialIssuer({ ...issuer, client });
  const identityProvider = new IdentityProvider(config.oidc, clock);
  const secure = config.tls !== undefined || config.oidc.callbackUrl.startsWith("https://");
  const login = new LoginFlow({
    identityProvider,
    loginSealer: createSealer("login", config.cookieKeys),
    sessionSealer: createSealer("session", config.cookieKeys),
    knownGroups: createKnownGroups({ client, clock, signal }),
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
  };
  const offers = createAllowedOffers({ exportTemplates, mayBind, logger, signal });
  const record: BindParts["record"] = (namespace, session, offer) =>
    recordGrant({ client, clock }, namespace, session, offer, { signal });
  const binding = { offers, tenant, credentials, signal, record: mayBind && record };
  const count = options.metrics.counter(declarations.logins);
  const confirmation = createConfirmation({
    requireAllowed: (person, api) => offers.require(person, api),
    tenantFor: (identity) => tenantFor(tenant, identity),
    respond: counted(createRespond(binding), count.labels({ way: "confirmed" })),
    tickets: createSealer("ticket", config.cookieKeys),
    challenges: sealer,
    url: besideCallback(config, "confirm"),
    clock,
  });
  const gate = { admit: createAdmission(clock), addressOf: createClientAddress(config.trustedProxies) };
  const app = createApp({
    prettyName,
    login,
    offers,
    secure,
    logger,
    admit: (session) => refuseAtLogin(tenant, session),
    bind: counted(createBind(binding), count.labels({ way: "redirect" })),
    confirmation,
    requireConfirmation: config.requireConfirmedLogin,
    controlPlaneId: () => {
      const uid = caches.namespaces.get(clusterIdentityNamespace)?.metadata.uid;
      return uid === undefined ? undefined : controlPlaneIdOf(uid);
    },
    authorizeUrl: config.oidc.authorizeUrl,
    callbackUrl: config.oidc.callbackUrl,
    allowedRedirects: config.allowedRedirects,
    clusterKeyOf: createClusterKeyOf({ sealer, url }),
    extend: (routes) => {
      addRenewalRoutes(routes, { renewal, gate, logger });
      addConfirmRoute(routes, { confirmation, gate, logger });
    },
  });
  return { app, identityProvider };
}

function renewalUrlFor(config: BackendConfig): string {
  return besideCallback(config, "renew");
}

/** That address is configured and reaches this backend from outside. */
function besideCallback({ oidc }: BackendConfig, name: string): string {
  return new URL(name, oidc.callbackUrl).href;
}

/**
 * Tenants take turns: one that writes thousands of objects holds up the others by one object each time, and keeps the API server busy for half
 * of the time.
 */
const byTenant = { of: (key: string): string => refOf(key).namespace ?? "", atOnce: 1, restsAbove: 50 };

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

function createControllers(
  options: BackendOptions,
  context: ControllerContext,
  templates: Informer<APIServiceExportTemplate>,
): readonly Controller[] {
  const { logger, metrics } = options;
  const { caches } = context;
  const requests = new Controller({
    name: "exportrequests",
    groups: byTenant,
    reconcile: createExportRequestReconcile(context),
    logger,
    metrics,
  });
  const exports = new Controller({
    name: "exports",
    groups: byTenant,
    reconcile: createExportReconcile(context),
    logger,
    metrics,
  });
  const mappings = new Controller({
    name: "servicenamespaces",
    groups: byTenant,
    reconcile: createServiceNamespaceReconcile(context),
    logger,
    metrics,
  });
  const heartbeats = new Heartbeats(options.clock);
  const withdrawn = new WithdrawnRights(context);
  metrics.read(declarations.unauthorizedExports, () => withdrawn.count());
  const bindings = new Controller({
    name: "clusterbindings",
    groups: byTenant,
    reconcile: createClusterBindingReconcile(context, heartbeats, withdrawn),
    logger,
    metrics,
  });
  const templateStates = new Controller({
    name: "exporttemplates",
    reconcile: createTemplateReconcile(context),
    logger,
    metrics,
  });
  // There are few: each change of a template may decide which one of several counts, and each CRD may be the missing one.
  const allTemplates = (): readonly string[] => [...templates.list()].map((object) => keyOf(object));
  templateStates.watch(templates, ({ key }) => [key, ...allTemplates()]);
  templateStates.watch(caches.crds, allTemplates);
  // They are counted only, and app clusters report to them all the time.
  templateStates.watch(caches.exports, ({ type, object }) =>
    (type === "updated" ? [] : [...templates.list()])
      .filter(({ spec }) => crdNameOf(spec.APIServiceSelector) === object.metadata.name)
      .map((template) => keyOf(template)),
  );
  requests.watch(caches.requests);
  exports.watch(caches.exports);
  exports.watch(caches.crds, ({ key }) =>
    [...caches.exports.list()].filter(({ metadata }) => metadata.name === key).map((object) => keyOf(object)),
  );
  // A template may begin or end to select any API.
  exports.watch(templates, () => [...caches.exports.list()].map((object) => keyOf(object)));
  // A person binds, and the plugin asks a moment later: the record may come to this cache after the request.
  if (caches.grants !== undefined) {
    requests.watch(caches.grants, ({ object }) =>
      caches.requests.byIndex(byNamespace, object.metadata.namespace ?? "").map((request) => keyOf(request)),
    );
    bindings.watch(caches.grants, ({ object }) => {
      const { namespace = "" } = object.metadata;
      withdrawn.forget(namespace);
      return caches.bindings.byIndex(byNamespace, namespace).map((binding) => keyOf(binding));
    });
  }
  // Requests that wait for a CRD go on when it appears.
  requests.watch(caches.crds, () =>
    [...caches.requests.list()]
      .filter(({ status }) => (status?.phase ?? "Pending") === "Pending")
      .map((object) => keyOf(object)),
  );
  const waitingIn = (namespace: string): readonly string[] =>
    waitingFor(context, namespace).map((mapping) => keyOf(mapping));
  // One that goes makes room for those that wait.
  mappings.watch(caches.mappings, ({ type, key, object }) => {
    return [key, ...(type === "deleted" ? waitingIn(object.metadata.namespace ?? "") : [])];
  });
  mappings.watch(caches.namespaces, ({ object }) => {
    const owner = object.metadata.annotations?.[serviceNamespaceAnnotation];
    return owner === undefined ? [] : [owner];
  });
  bindings.watch(caches.bindings, (change) => heartbeats.keysFor(change));
  const bindingsIn = (namespace: string): readonly string[] =>
    caches.bindings.byIndex(byNamespace, namespace).map((binding) => keyOf(binding));
  bindings.watch(caches.exports, ({ object }) => bindingsIn(object.metadata.namespace ?? ""));
  // A revocation shows at once: the operator deletes the account, and annotates the namespace.
  bindings.watch(caches.accounts, ({ object }) => bindingsIn(object.metadata.namespace ?? ""));
  bindings.watch(caches.namespaces, ({ object }) => bindingsIn(object.metadata.name ?? ""));
  const tenants = createTenantController(
    context,
    { bindings, mappings, waitingIn },
    { groups: byTenant, logger, metrics },
  );
  return [requests, exports, mappings, bindings, tenants, templateStates];
}
