/** A backend in control-plane mode on a real API server, with exactly the rights of its shipped ClusterRole and policy. */
import {
  type AppClusterBinding,
  type AppClusterBindingSpec,
  appClusterBindings,
  apiServiceExportTemplates,
  backendClaimsRoleName,
  backendRules,
  controlPlaneModeRoleName,
  controlPlaneModeRules,
  bindCrds,
  deployRule,
  shippedOffers,
  binderRules,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  type KubeObject,
  namespaces,
  secrets,
  serviceAccounts,
} from "@klutch/kube-core";
import { type Clock, createKubeClient, formatKubeconfig, type KubeClient, systemClock } from "@klutch/kube";
import {
  accountConfig,
  crdObject,
  leaseCluster,
  namespaceObject,
  roleBindingObject,
  roleObject,
  serviceAccountObject,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { Secret } from "@klutch/telemetry";
import type { Backend } from "../../backend.ts";
import { confinedClient } from "../../testing/confined.ts";
import { ownClaim, templateObject } from "../../testing/provider.ts";
import { startBackend } from "../../testing/start-backend.ts";

/** Fixture of the tests. */
export interface ControlPlaneFixture extends AsyncDisposable {
  readonly cluster: TestCluster;
  /** Client of the administrator. */
  readonly client: KubeClient;
  readonly backend: Backend;
  /** Added to the backend's wall clock. */
  readonly shift: { ms: number };
  /** Resources that the backend applied so far, one entry for each request. */
  readonly applied: () => readonly string[];
  /** Condition of an AppClusterBinding in `default` (or `namespace`) as `True`, or `False Severity/Reason: message`. */
  readonly condition: (name: string, type: string, namespace?: string) => Promise<string>;
  /** Makes an AppClusterBinding with the good Secret's name. */
  readonly create: (
    name: string,
    spec?: Partial<AppClusterBindingSpec>,
    namespace?: string,
  ) => Promise<AppClusterBinding>;
}

const account = { namespace: "klutch-backend", name: "klutch-backend" };

/** The reference of the Secret that `createKubeconfig` makes. */
export const credentials = {
  namespace: "default",
  name: "app-cluster-kubeconfig",
  key: "kubeconfig",
} as const;

/** A kubeconfig that is good, without a namespace in its context. */
export const goodKubeconfig: string = formatKubeconfig({
  name: "app",
  server: "https://app.example.org:6443",
  ca: undefined,
  auth: { kind: "token", token: new Secret("a-token") },
});

/** A Secret with a kubeconfig. */
export function kubeconfigSecret(
  text: string,
  metadata: KubeObject["metadata"] = { namespace: credentials.namespace, name: credentials.name },
): DynamicObject {
  const data = { kubeconfig: Buffer.from(text).toString("base64"), other: "eA==" };
  return { apiVersion: "v1", kind: "Secret", metadata, data };
}

const crd = (plural: string, kind: string): DynamicObject =>
  crdObject({ group: "mangodb.com", version: "v1", plural, kind, namespaced: true });

/** Offers a resource of mangodb.com with a claim on Secrets. */
export const template = (resource: string): DynamicObject =>
  templateObject("mangodb.com", resource, [ownClaim("secrets")]);

export async function startControlPlaneFixture(): Promise<ControlPlaneFixture> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await leaseCluster({ name: "control-plane", controllerManager: true }));
  const { client } = cluster;
  const crds = [...bindCrds, crd("mangodbs", "MangoDB"), crd("caches", "Cache")];
  for (const object of crds) await client.create<KubeObject>(customResourceDefinitions, object);
  await waitFor("templates to be served", () =>
    client.create(apiServiceExportTemplates, template("mangodbs")),
  );
  await client.create(apiServiceExportTemplates, template("caches"));
  for (const { metadata } of bindCrds) {
    const [plural = ""] = metadata.name.split(".");
    await waitFor(`${plural} to be served`, async () => {
      const path = `/apis/${metadata.name.slice(plural.length + 1)}/v1alpha1/${plural}`;
      return (await client.request({ method: "GET", path })) !== undefined;
    });
  }
  await createAccount(client);
  stack.use(await confinedClient(cluster));
  const guarded = await restrictedClient(cluster);
  stack.use(guarded.client);
  const shift = { ms: 0 };
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + shift.ms };
  const flags = ["--control-plane-mode", "--konnector-image=example.org/konnector:test"];
  const { backend } = await startBackend(stack, cluster, { flags, client: guarded.client, clock });
  const owned = stack.move();
  return {
    cluster,
    client,
    backend,
    shift,
    applied: guarded.applied,
    condition: (name, type, namespace = "default") => conditionOf(client, { namespace, name }, type),
    create: (name, spec, namespace = "default") =>
      client.create<AppClusterBinding>(appClusterBindings, {
        apiVersion: "klutch.anynines.com/v1alpha1",
        kind: "AppClusterBinding",
        metadata: { namespace, name },
        spec: { kubeconfigSecretRef: credentials, ...spec },
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function createAccount(client: KubeClient): Promise<void> {
  const permissionClaims = [{ resource: "secrets" }];
  const offered = ["mangodbs", "caches"].map((resource) => ({
    spec: { APIServiceSelector: { group: "mangodb.com", resource }, permissionClaims },
  }));
  await client.create(namespaces, namespaceObject(account.name));
  await client.create(serviceAccounts, serviceAccountObject(account));
  for (const [name, rules] of [
    [account.name, backendRules],
    [controlPlaneModeRoleName, controlPlaneModeRules],
    ["klutch-binder", binderRules],
    [backendClaimsRoleName, [...shippedOffers(offered), deployRule("example.org/konnector")]],
  ] as const) {
    await client.create(clusterRoles, roleObject({ name }, rules));
  }
  for (const name of [account.name, controlPlaneModeRoleName, backendClaimsRoleName]) {
    const binding = roleBindingObject({ name }, { kind: "ClusterRole", name }, account);
    await client.create(clusterRoleBindings, binding);
  }
}

async function restrictedClient(
  cluster: TestCluster,
): Promise<{ readonly client: KubeClient; readonly applied: () => readonly string[] }> {
  const client = createKubeClient(await accountConfig(cluster, account), { flowControl: false });
  const applied: string[] = [];
  const recording: KubeClient = {
    ...client,
    apply(type, object, options) {
      applied.push(type.plural);
      return client.apply(type, object, options);
    },
  };
  return { client: recording, applied: () => applied };
}

async function conditionOf(
  client: KubeClient,
  ref: { readonly namespace: string; readonly name: string },
  type: string,
): Promise<string> {
  const { status: found } = await client.get<AppClusterBinding>(appClusterBindings, ref);
  const condition = findCondition(found?.conditions, type);
  if (condition === undefined) return "absent";
  const { status, severity, reason, message } = condition;
  return status === "True" ? "True" : `${status} ${severity}/${reason}: ${message}`;
}

/** Makes the app cluster's Secret. */
export async function createKubeconfig(client: KubeClient, text: string = goodKubeconfig): Promise<void> {
  await client.create(secrets, kubeconfigSecret(text));
}

/** Waits until the read value matches; else the error contains the last value. */
export function until(what: string, read: () => Promise<string>, expected: RegExp): Promise<string> {
  return waitFor(what, async () => {
    const text = await read();
    if (!expected.test(text)) throw new Error(text);
    return text;
  });
}
