/** Two real clusters, a provider side made by hand, and konnectors that run in this process. */
import {
  type AnsweredPermissionClaim,
  apiServiceBindings,
  bindingRoleManifests,
  bindingRoleName,
  bindingRules,
  consumerNamespace,
  konnectorManifests,
  type KonnectorUpdateScope,
  konnectorName,
  konnectorPolicyManifests,
  konnectorScopeOf,
  resourceNamed,
} from "@klutch/api";
import {
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { type ClusterConfig, createKubeClient, type KubeClient } from "@klutch/kube";
import { systemRuntime } from "@klutch/kube-runtime";
import {
  accountConfig,
  applyPolicies,
  anyObject,
  crdObject,
  installRights,
  leaseCluster,
  secretObject,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { createLogger, createMetrics, type Logger, type Tracer } from "@klutch/telemetry";
import type { Timing } from "../clusters.ts";
import type { OwnBind } from "../config.ts";
import { runAgent } from "../agent.ts";
import { installBindCrds, serveNamespaces } from "./provider-side.ts";

/** The clusters and helpers that the tests use. */
export interface Fixture extends AsyncDisposable {
  readonly consumer: TestCluster;
  readonly provider: TestCluster;
}

/** Boots the clusters and, unless a real backend runs, the provider's answering machine for namespaces. */
export async function startFixture(options: { readonly backend?: boolean } = {}): Promise<Fixture> {
  await using stack = new AsyncDisposableStack();
  const [consumer, provider] = await Promise.all([startAppCluster(), leaseCluster()]);
  stack.use(consumer);
  stack.use(provider);
  await installBindCrds(provider);
  const stop = new AbortController();
  const serving = options.backend === true ? undefined : serveNamespaces(provider, stop.signal);
  stack.defer(() => serving);
  stack.defer(() => stop.abort());
  const owned = stack.move();
  return { consumer, provider, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Leases an app cluster with the agent's rights and the namespace `app`. */
export async function startAppCluster(): Promise<TestCluster> {
  const consumer = await leaseCluster({ appCluster: true });
  await consumer.client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "app" },
  });
  await installRights(consumer.client, konnectorManifests({ image: "none" }));
  return consumer;
}

/** A konnector that runs in this process. */
export interface RunningKonnector extends AsyncDisposable {
  readonly probePort: number;
  /** Writes put on the wire since the start, as `cluster VERB resource`. */
  readonly writes: readonly string[];
  /** Watches opened since the start, as `cluster resource`. */
  readonly watches: readonly string[];
}

/** Options of a konnector in a test. */
export interface StartOptions {
  readonly identity?: string | undefined;
  readonly leaseName?: string | undefined;
  readonly timing?: Partial<Timing> | undefined;
  readonly logger?: Logger | undefined;
  /** Default: no traces. */
  readonly tracer?: Tracer | undefined;
  /** Default: people bind. */
  readonly ownBind?: OwnBind | undefined;
  /** Default: the konnector does not follow updates. */
  readonly updates?: KonnectorUpdateScope | undefined;
}

/** The last warnings of the agents in this process, for the message of a test that waits in vain. */
const warnings: string[] = [];
const mostWarnings = 10;
const rememberingLogger = createLogger({
  name: "konnector",
  level: "warn",
  write: (line) => {
    warnings.push(line);
    if (warnings.length > mostWarnings) warnings.shift();
  },
});

/** Starts one; disposing it stops it in order. */
export async function startKonnector(
  { consumer }: Pick<Fixture, "consumer">,
  options: StartOptions = {},
): Promise<RunningKonnector> {
  const stop = new AbortController();
  const listening = Promise.withResolvers<number>();
  const writes: string[] = [];
  const watches: string[] = [];
  const running = runAgent({
    config: {
      leaseName: options.leaseName ?? consumerNamespace,
      leaseNamespace: consumerNamespace,
      identity: options.identity ?? "test",
      installCrd: true,
      timing: { graceMs: 300, recordAfterMs: 200, ...options.timing },
      controlPlane: undefined,
      ownBind: options.ownBind,
      updates: options.updates,
    },
    cluster: await agentConfig(consumer),
    ...systemRuntime({
      logger: options.logger ?? rememberingLogger,
      metrics: createMetrics(),
      tracer: options.tracer,
    }),
    probes: { host: "127.0.0.1", port: 0 },
    signal: stop.signal,
    onListening: listening.resolve,
    createClient: (config: ClusterConfig, clientOptions) =>
      counting(createKubeClient(config, clientOptions), { writes, watches }),
  });
  running.catch(listening.reject);
  const probePort = await listening.promise;
  return {
    probePort,
    writes,
    watches,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test ended"));
      await running;
    },
  };
}

/** A client that writes down what it sends; leases are left out. */
function counting(
  client: KubeClient,
  { writes, watches }: { writes: string[]; watches: string[] },
): KubeClient {
  const write = (verb: string, type: ResourceType): void => {
    if (type.plural !== "leases") writes.push(`${client.clusterName} ${verb} ${type.plural}`);
  };
  return {
    clusterName: client.clusterName,
    get: (type, ref, options) => client.get(type, ref, options),
    find: (type, ref, options) => client.find(type, ref, options),
    list: (type, options) => client.list(type, options),
    listAll: (type, options) => client.listAll(type, options),
    watch: (type, options) => {
      watches.push(`${client.clusterName} ${type.plural}`);
      return client.watch(type, options);
    },
    create: (type, object, options) => (write("create", type), client.create(type, object, options)),
    replace: (type, object, options) => (write("replace", type), client.replace(type, object, options)),
    apply: (type, object, options) => (write("apply", type), client.apply(type, object, options)),
    mergePatch: (type, ref, patch, options) => (
      write(`merge ${options?.subresource ?? ""}`, type), client.mergePatch(type, ref, patch, options)
    ),
    jsonPatch: (type, ref, operations, options) => (
      write(`json ${options?.subresource ?? ""}`, type), client.jsonPatch(type, ref, operations, options)
    ),
    delete: (type, ref, options) => (write("delete", type), client.delete(type, ref, options)),
    request: (options) => client.request(options),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** The agent's own account, with just the rights of the shipped manifests and of the bindings. */
export function agentConfig(cluster: TestCluster): Promise<ClusterConfig> {
  return accountConfig(cluster, { namespace: consumerNamespace, name: konnectorName });
}

/** Does what the plugin does in the app cluster: Secret, rights and binding. */
export async function bindApi(
  { consumer }: Pick<Fixture, "consumer">,
  name: string,
  kubeconfig: string,
  claims: readonly AnsweredPermissionClaim[] = [],
  secretName = "kubeconfig-test",
): Promise<void> {
  const ref = { namespace: consumerNamespace, name: secretName };
  if ((await consumer.client.find(secrets, ref)) === undefined) {
    await consumer.client.create(secrets, secretObject(ref.namespace, ref.name, { kubeconfig }));
  }
  await grantApi({ consumer }, name, claims);
  await createBinding({ consumer }, name, claims, secretName);
}

/** Claims that were granted so far, by the client of the app cluster. */
const granted = new WeakMap<KubeClient, Map<string, readonly AnsweredPermissionClaim[]>>();

/** Gives the agent the rights in the app cluster that go with a binding, and confines it to them as the plugin does. */
export async function grantApi(
  { consumer }: Pick<Fixture, "consumer">,
  name: string,
  claims: readonly AnsweredPermissionClaim[] = [],
): Promise<void> {
  const rules = bindingRules(resourceNamed(name), claims);
  await installRights(consumer.client, bindingRoleManifests(bindingRoleName(name), rules));
  await confineApi({ consumer }, name, claims);
}

/** Lets the admission policy allow what a binding needs, besides all that was granted before. Like the plugin, it waits for the agent's own kind first. */
export async function confineApi(
  { consumer }: Pick<Fixture, "consumer">,
  name: string,
  claims: readonly AnsweredPermissionClaim[] = [],
): Promise<void> {
  await untilBindingsServed({ consumer });
  const all = granted.get(consumer.client) ?? new Map<string, readonly AnsweredPermissionClaim[]>();
  granted.set(consumer.client, all.set(name, claims));
  const scope = konnectorScopeOf([...all].map(([api, answers]) => ({ name: api, claims: answers })));
  await applyPolicies(consumer.client, konnectorPolicyManifests(scope));
}

/** Creates just the binding. */
export async function createBinding(
  { consumer }: Pick<Fixture, "consumer">,
  name: string,
  claims: readonly AnsweredPermissionClaim[] = [],
  secretName = "kubeconfig-test",
): Promise<void> {
  const ref = { namespace: consumerNamespace, name: secretName };
  await untilBindingsServed({ consumer });
  await consumer.client.create<KubeObject>(apiServiceBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { namespace: consumerNamespace, name },
    spec: { kubeconfigSecretRef: { ...ref, key: "kubeconfig" }, permissionClaims: claims },
  });
}

/** The policy lets no agent create that kind any more. */
async function untilBindingsServed({ consumer }: Pick<Fixture, "consumer">): Promise<void> {
  await waitFor("bindings to be served", () => consumer.client.list(apiServiceBindings)).catch(
    (cause: unknown) => {
      throw new Error(`no agent made the kind of bindings; warnings:\n${warnings.join("")}`, { cause });
    },
  );
}

/** A widget of the test API. */
export function widget(
  type: ResourceType,
  name: string,
  spec: unknown,
  metadata: object = {},
): DynamicObject {
  return {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { ...(type.namespaced ? { namespace: "app" } : {}), name, ...metadata },
    spec,
  };
}

/** A resource with its CRD, by whose name it is bound. */
export interface TestApi {
  readonly type: ResourceType;
  readonly crd: KubeObject;
  readonly name: string;
}

/** A resource of the test's group; every object keeps unknown fields of spec and status. */
export function testApi(
  plural: string,
  kind: string,
  options: { readonly namespaced?: boolean; readonly statusSubresource?: boolean } = {},
): TestApi {
  const { namespaced = true, statusSubresource: hasStatus = true } = options;
  const type = { group: "test.klutch.example", version: "v1", plural, kind, namespaced };
  const crd = crdObject(type, { properties: { spec: anyObject, status: anyObject }, hasStatus });
  return { name: `${plural}.${type.group}`, type, crd };
}
