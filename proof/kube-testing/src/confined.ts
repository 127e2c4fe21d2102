/** Accounts that only an admission policy restricts. */
import {
  type KubeObject,
  type ObjectRef,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { createKubeClient, type KubeClient } from "@klutch/kube";
import type { TestCluster } from "./cluster.ts";

/** Acts as a service account with every right of RBAC: what it is refused, a policy refuses. The caller disposes of it. */
export function unlimitedClient({ config }: TestCluster, { namespace = "", name }: ObjectRef): KubeClient {
  const impersonate = { user: `system:serviceaccount:${namespace}:${name}`, groups: ["system:masters"] };
  return createKubeClient({ ...config, impersonate }, { userAgent: "test", flowControl: false });
}

/** Writes ValidatingAdmissionPolicies and their bindings. The server obeys them only a moment later. */
export async function applyPolicies(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  const types = [validatingAdmissionPolicies, validatingAdmissionPolicyBindings];
  for (const manifest of manifests) {
    const type = types.find(({ kind }) => kind === manifest.kind);
    if (type === undefined) throw new Error(`${manifest.kind} is no admission policy`);
    await client.apply(type, manifest, { fieldManager: "test", force: true });
  }
}
