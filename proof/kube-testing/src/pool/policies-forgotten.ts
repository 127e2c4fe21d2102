/**
 * Proves that an API server has forgotten admission policies that were deleted in etcd. It compiles all of them from two informers, one for
 * policies and one for bindings, once a second. Each informer sees its objects in their order: a compilation that has a marker's policy and
 * binding no longer has what was deleted before them. A marker acts on the creation of one namespace that is never made.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isForbidden, isInvalid, type KubeClient } from "@klutch/kube";
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

const name = "klutch-pool-marker";
const pollMs = 50;
const mostWaitMs = 20_000;

/** A kind of policy, with what its marker does and how that shows. */
interface Plugin {
  readonly types: readonly [policies: ResourceType, bindings: ResourceType];
  readonly policy: object;
  readonly binding: object;
}

const validating: Plugin = {
  types: [validatingAdmissionPolicies, validatingAdmissionPolicyBindings],
  policy: { validations: [{ expression: "false", message: name }] },
  binding: { validationActions: ["Deny"] },
};
const mutating: Plugin = {
  types: [mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings],
  policy: {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    mutations: [
      { patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/none'}]" } },
    ],
  },
  binding: {},
};

/** Resolves once the server has forgotten the policies of these paths in etcd; the markers are gone then, too. Throws after 20 seconds. */
export async function policiesForgotten(client: KubeClient, changed: readonly string[]): Promise<void> {
  for (const plugin of [validating, mutating])
    if (plugin.types.some(({ plural }) => changed.some((path) => path.startsWith(`/registry/${plural}/`))))
      await passMarker(client, plugin);
}

async function passMarker(client: KubeClient, { types, policy, binding }: Plugin): Promise<void> {
  const [policies, bindings] = types;
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["namespaces"] };
  const spec = {
    ...policy,
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: "marker", expression: `object.metadata.name == '${name}'` }],
  };
  await client.create<DynamicObject>(policies, objectOfType(policies, { name }, { spec }));
  const bound = { spec: { ...binding, policyName: name } };
  await client.create<DynamicObject>(bindings, objectOfType(bindings, { name }, bound));
  await untilRefused(client, true);
  for (const type of types) await client.delete(type, { name });
  await untilRefused(client, false);
}

async function untilRefused(client: KubeClient, wanted: boolean): Promise<void> {
  for (
    const untilMs = performance.now() + mostWaitMs;
    (await isRefused(client)) !== wanted;
    await sleep(pollMs)
  )
    if (performance.now() > untilMs)
      throw new Error(`no policy of the pool's ${wanted ? "came into force" : "went"}`);
}

async function isRefused(client: KubeClient): Promise<boolean> {
  try {
    await client.create(namespaces, namespaceObject(name), { dryRun: true });
    return false;
  } catch (error) {
    if (isForbidden(error) || isInvalid(error)) return true;
    throw error;
  }
}
