/** Wires the control-plane mode: its caches, and which changes make the AppClusterBinding controller reconcile. */
import {
  appClusterBindingNameLabel,
  type APIServiceBinding,
  apiServiceBindings,
  type APIServiceExportTemplate,
  type AppClusterBinding,
  appClusterBindings,
  clusterBindingName,
  controlPlaneModeRoleName,
} from "@klutch/api";
import { deployments, keyOf, type KubeObject } from "@klutch/kube-core";
import { isForbidden, type KubeClient } from "@klutch/kube";
import { type Change, Controller, Informer, type Runnable } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { createAppClusterBindingReconcile } from "./reconciler.ts";
import type { Caches, ControllerContext } from "../controller-context.ts";
import type { CredentialIssuer } from "../provisioning/credentials.ts";
import type { ControlPlaneCaches, ControlPlaneContext, KonnectorImages } from "./context.ts";
import { ownerKeyOf } from "./names.ts";

/** Parts of `createControlPlane`. */
export interface ControlPlaneOptions {
  readonly client: KubeClient;
  readonly context: ControllerContext;
  readonly templates: Informer<APIServiceExportTemplate>;
  readonly konnectorImages: KonnectorImages;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A cache of anything, to be started, watched over and closed. */
export type AnyInformer = AsyncDisposable &
  Pick<Informer<KubeObject>, "type" | "synced" | "status" | "start" | "whenSynced">;

/** The caches and the controller, not started. */
export interface ControlPlane {
  readonly informers: readonly AnyInformer[];
  readonly controller: Controller;
  /** Says at the start which role is missing. */
  readonly rights: Runnable;
}

const yearMs = 365 * 86_400_000;

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { context, templates, konnectorImages, logger, metrics } = options;
  const caches = createCaches(options.client, logger);
  const full: ControlPlaneContext = { ...context, controlPlane: caches, konnectorImages };
  const reconcile = createAppClusterBindingReconcile(full);
  const controller = new Controller({ name: "appclusterbindings", reconcile, logger, metrics });
  const { appClusterBindings: objects } = caches;
  controller.watch(objects);
  const ownerKeys = ({ object }: Change<KubeObject>): readonly string[] => ownerKeyOf(object);
  controller.watch(caches.serviceBindings, ownerKeys);
  controller.watch(caches.deployments, ownerKeys);
  controller.watch(context.caches.namespaces, ownerKeys);
  controller.watch(context.caches.requests, ownerKeys);
  // An export has no mark of its own; its namespace does.
  controller.watch(context.caches.exports, ({ object }) => {
    const namespace = context.caches.namespaces.get(object.metadata.namespace ?? "");
    return namespace === undefined ? [] : ownerKeyOf(namespace);
  });
  controller.watch(templates, () => [...objects.list()].map((binding) => keyOf(binding)));
  return {
    informers: [objects, caches.serviceBindings, caches.deployments],
    controller,
    rights: rightsCheck(options),
  };
}

/** Logs what to do where the account lacks the role of the mode: its caches stay empty then, and the backend does not become ready. */
function rightsCheck({ client, logger }: ControlPlaneOptions): Runnable {
  return {
    name: "control-plane-mode",
    runs: "process",
    async start({ signal }) {
      const failure = await client.list(appClusterBindings, { limit: 1, signal }).then(
        () => undefined,
        (error: unknown) => error,
      );
      // The cache reports every other failure.
      if (isForbidden(failure))
        logger.error(missingRights, { role: controlPlaneModeRoleName, error: failure });
    },
  };
}

const missingRights =
  "control-plane mode has no rights, so the backend does not become ready. Apply control-plane-mode.yaml of this release; " +
  "the chart does it with controlPlaneMode: true";

/** A konnector of the control plane uses its pod's account, so that no kubeconfig of the provider is issued for its namespace. */
export function withoutControlPlane(issuer: CredentialIssuer, caches: Caches): CredentialIssuer {
  return {
    issue: (namespace, options) => issuer.issue(namespace, options),
    ensure(namespace, options) {
      const binding = caches.bindings.get(`${namespace}/${clusterBindingName}`);
      return binding?.metadata.labels?.[appClusterBindingNameLabel] === undefined
        ? issuer.ensure(namespace, options)
        : Promise.resolve({ kubeconfig: "", renewInMs: yearMs });
    },
  };
}

function createCaches(client: KubeClient, logger: Logger): ControlPlaneCaches {
  const common = { client, logger };
  const labelSelector = appClusterBindingNameLabel;
  return {
    appClusterBindings: new Informer<AppClusterBinding>({ ...common, type: appClusterBindings }),
    serviceBindings: new Informer<APIServiceBinding>({ ...common, type: apiServiceBindings, labelSelector }),
    deployments: new Informer<KubeObject>({ ...common, type: deployments, labelSelector }),
  };
}
