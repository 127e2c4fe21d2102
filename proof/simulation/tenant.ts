/** Makes one app cluster and its place on the provider, as the backend and the plugin would. */
import {
  apiServiceBindingCrd,
  apiServiceBindings,
  apiServiceExports,
  bindCrds,
  boundAnnotation,
  claimMarksCondition,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  kubeconfigKey,
  syncerFinalizer,
} from "@klutch/api";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  isDeleting,
  isTrue,
  type KubeObject,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import { type ClusterConfig, formatKubeconfig, type KubeClient, type Random } from "@klutch/kube";
import {
  ApiServerModel,
  namespaceObject,
  objectOfType,
  secretObject,
  seededRandom,
  type VirtualClock,
} from "@klutch/kube-testing";
import { Secret } from "@klutch/telemetry";
import { exportOf, type SimulatedApi, simulatedApis } from "./apis.ts";

/** Namespaces of an app cluster in which users work. */
export const workNamespaces: readonly string[] = ["app", "other"];

/** Its agents come and go; the two servers and the tenant's place stay for the whole run. */
export interface SimulatedTenant {
  /** `consumer-1`; the host of its address, too. */
  readonly name: string;
  readonly consumer: ApiServerModel;
  /** Sees no faults: it plays users, controllers and observers. */
  readonly direct: KubeClient;
  readonly config: ClusterConfig;
  /** Cluster namespace on the provider. */
  readonly namespace: string;
  /** Its cluster gives new claims the agent's marks, while the binding allows it. */
  readonly marksAtAdmission: boolean;
}

/** Makes the provider's part that all tenants share. */
export async function prepareProvider(direct: KubeClient): Promise<void> {
  for (const crd of [...bindCrds, ...simulatedApis.map((api) => api.crd)])
    await direct.create<KubeObject>(customResourceDefinitions, crd);
}

/** Makes an app cluster, bound to all APIs. */
export async function createTenant(
  index: number,
  seed: number,
  clock: VirtualClock,
  provider: KubeClient,
): Promise<SimulatedTenant> {
  const name = `consumer-${index}`;
  const consumer = new ApiServerModel({ clock, uidSeed: seed * 10 + index });
  const random = seededRandom(seed * 10 + index);
  // A delete may overtake the finalizer of an agent.
  const deleteMs = (): number => Math.max(0, random() - 0.5) * 200;
  const direct = consumer.client({ clusterName: `${name}-direct`, user: "user", deleteMs });
  const namespace = `cluster-${index}`;
  await provider.create(namespaces, namespaceObject(namespace));
  const key = { name: kubeconfigKey, key: kubeconfigKey };
  const account = { namespace, name: clusterBindingName };
  const spec = { kubeconfigSecretRef: key, providerPrettyName: "simulated" };
  await provider.create(clusterBindings, objectOfType(clusterBindings, account, { spec }));
  const kubeconfig = formatKubeconfig({
    name: "provider",
    server: "https://provider",
    namespace,
    auth: { kind: "token", token: new Secret("none") },
  });
  const texts = { [kubeconfigKey]: kubeconfig };
  await provider.create(secrets, secretObject(namespace, kubeconfigKey, texts));
  // Gives two tenants different scopes.
  const informerScope = (seed + index) % 2 === 0 ? "Cluster" : "Namespaced";
  for (const api of simulatedApis)
    await provider.create(apiServiceExports, exportOf(api, namespace, informerScope));
  for (const one of [consumerNamespace, ...workNamespaces])
    await direct.create(namespaces, namespaceObject(one));
  await direct.create<KubeObject>(customResourceDefinitions, apiServiceBindingCrd);
  const ref = { namespace: consumerNamespace, name: kubeconfigKey };
  await direct.create(secrets, secretObject(ref.namespace, ref.name, texts));
  for (const api of simulatedApis) {
    const permissionClaims = api.claims.map((claim) => ({ ...claim, state: "Accepted" }));
    const spec = { kubeconfigSecretRef: { ...ref, key: kubeconfigKey }, permissionClaims };
    const metadata = { namespace: consumerNamespace, name: api.name };
    await direct.create(apiServiceBindings, objectOfType(apiServiceBindings, metadata, { spec }));
  }
  const config: ClusterConfig = { name, server: `https://${name}`, auth: { kind: "none" } };
  const marksAtAdmission = (seed + index) % 3 === 0;
  return { name, consumer, direct, config, namespace, marksAtAdmission };
}

/** An API server may know a change of a binding only after this. */
const admissionLagMs = 500;

/** Creates a claim as a person, in a cluster that may mark it: by what its API server knew of the binding a moment ago. */
export async function createClaim(
  { direct, marksAtAdmission }: SimulatedTenant,
  api: SimulatedApi,
  claim: DynamicObject,
  clock: VirtualClock,
  random: Random,
): Promise<DynamicObject> {
  if (!marksAtAdmission) return direct.create(api.type, claim);
  const ref = { namespace: consumerNamespace, name: api.name };
  const binding = await direct.find<DynamicObject>(apiServiceBindings, ref);
  await clock.sleep(random() * admissionLagMs);
  const marks = { finalizers: [syncerFinalizer], annotations: { [boundAnnotation]: "true" } };
  const isMarked =
    binding !== undefined && !isDeleting(binding) && isTrue(conditionsOf(binding), claimMarksCondition);
  return direct.create(api.type, isMarked ? { ...claim, metadata: { ...claim.metadata, ...marks } } : claim);
}
