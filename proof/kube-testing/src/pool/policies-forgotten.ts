/**
 * Proves that an API server has forgotten the admission policies of a borrower. It compiles all of them from two informers, one for policies
 * and one for bindings, once a second. Each informer sees its objects in their order: a compilation that has a marker's binding has no binding
 * that was deleted before it, and the next one, without the marker, reads policies that are at least as new. A marker acts on the creation of
 * one namespace that is never made, and each has a name of its own, because an informer may still know the last one.
 */
import { randomUUID } from "node:crypto";
import { type ClusterConfig, isForbidden, isInvalid, type KubeClient } from "@klutch/kube";
import {
  type DynamicObject,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  namespaces,
  type ResourceType,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { namespaceObject, objectOfType } from "../objects.ts";
import { serverMetrics } from "../server-metrics.ts";
import { waitFor } from "../wait-for.ts";

const marked = "klutch-pool-marked";
const impossible = "[JSONPatch{op: 'remove', path: '/none'}]";
const limits = { timeoutMs: 20_000, intervalMs: 50 };
/** Matches the counters of writes that may have had an effect. */
const writeCounter = /^apiserver_request_total\{(?!.*(verb="(GET|LIST|WATCH)"|code="4))/;

/** A kind of policy, with a marker that refuses its namespace. */
interface Plugin {
  readonly types: readonly [policies: ResourceType, bindings: ResourceType];
  readonly policy: object;
  readonly binding: object;
}

const validating: Plugin = {
  types: [validatingAdmissionPolicies, validatingAdmissionPolicyBindings],
  policy: { validations: [{ expression: "false", message: marked }] },
  binding: { validationActions: ["Deny"] },
};
const mutating: Plugin = {
  types: [mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings],
  policy: {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: impossible } }],
  },
  binding: {},
};
const plugins = [validating, mutating];

/** The server's counters of writes to each plugin's kinds, as text: they differ as soon as one more write was answered. */
export type PolicyWrites = readonly string[];

/** A cluster with its administrator's access. */
export interface PolicedCluster {
  readonly client: KubeClient;
  readonly config: ClusterConfig;
}

/** Reads the counters. etcd does not tell of a policy that was deleted again, although the server may still obey it. */
export async function policyWrites(cluster: PolicedCluster): Promise<PolicyWrites> {
  const lines = (await serverMetrics(cluster)).split("\n").filter((line) => writeCounter.test(line));
  return plugins.map(({ types }) =>
    lines.filter((line) => types.some(({ plural }) => line.includes(`resource="${plural}"`))).join("\n"),
  );
}

/**
 * Resolves once the server has forgotten each policy that is deleted in etcd and was written since `known`. Returns `known` itself when none
 * was written, else the new counters; the markers are deleted then. Throws when a marker does not come or go within 20 seconds.
 */
export async function policiesForgotten(cluster: PolicedCluster, known: PolicyWrites): Promise<PolicyWrites> {
  const written = await policyWrites(cluster);
  const suspects = plugins.filter((_, index) => written[index] !== known[index]);
  for (const plugin of suspects) await passMarker(cluster.client, plugin);
  return suspects.length === 0 ? known : policyWrites(cluster);
}

async function passMarker(client: KubeClient, { types, policy, binding }: Plugin): Promise<void> {
  const [policies, bindings] = types;
  const name = `klutch-pool-marker-${randomUUID()}`;
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["namespaces"] };
  const spec = {
    ...policy,
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: "marked", expression: `object.metadata.name == '${marked}'` }],
  };
  await client.create<DynamicObject>(policies, objectOfType(policies, { name }, { spec }));
  const bound = { spec: { ...binding, policyName: name } };
  await client.create<DynamicObject>(bindings, objectOfType(bindings, { name }, bound));
  // The last borrower's policies may refuse the namespace, too, as long as they are in force.
  await waitFor(`${name} to be in force`, async () => (await refusal(client))?.includes(name), limits);
  for (const type of types) await client.delete(type, { name });
  await waitFor(`${name} to be forgotten`, async () => (await refusal(client)) === undefined, limits);
}

/** Returns the server's reason not to create the namespace; undefined when it would. */
async function refusal(client: KubeClient): Promise<string | undefined> {
  try {
    await client.create(namespaces, namespaceObject(marked), { dryRun: true });
    return undefined;
  } catch (error) {
    if (isForbidden(error) || isInvalid(error)) return String(error);
    throw error;
  }
}
