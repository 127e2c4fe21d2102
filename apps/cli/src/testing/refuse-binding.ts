/** An app cluster whose own admission policy stands in the way. */
import { apiServiceBindings } from "@klutch/api";
import { ApiError } from "@klutch/kube";
import {
  type DynamicObject,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { type TestCluster, waitFor } from "@klutch/kube-testing";
import { bindingOf } from "../bind/consumer.ts";

/** The app cluster refuses bindings of this name, until disposed. */
export async function refuseBinding(consumer: TestCluster, name: string): Promise<AsyncDisposable> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const rule = {
    apiGroups: ["klutch.anynines.com"],
    apiVersions: ["*"],
    resources: ["apiservicebindings"],
    operations: ["CREATE"],
  };
  await consumer.client.create<DynamicObject>(validatingAdmissionPolicies, {
    apiVersion,
    kind: validatingAdmissionPolicies.kind,
    metadata: { name: "refuse" },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: `object.metadata.name != '${name}'`, message: "not here" }],
    },
  });
  await consumer.client.create<DynamicObject>(validatingAdmissionPolicyBindings, {
    apiVersion,
    kind: validatingAdmissionPolicyBindings.kind,
    metadata: { name: "refuse" },
    spec: { policyName: "refuse", validationActions: ["Deny"] },
  });
  const binding = bindingOf(name, "s", []);
  // Uses an existing namespace: in a missing one the server refuses before it asks the policy.
  const probe = { ...binding, metadata: { ...binding.metadata, namespace: "default" } };
  const isRefused = async (): Promise<boolean> => {
    try {
      await consumer.client.create(apiServiceBindings, probe, { dryRun: true });
      return false;
    } catch (error) {
      if (error instanceof ApiError && error.message.includes("not here")) return true;
      throw error;
    }
  };
  await waitFor("the policy to be in force", isRefused);
  return {
    async [Symbol.asyncDispose]() {
      for (const type of [validatingAdmissionPolicies, validatingAdmissionPolicyBindings]) {
        await consumer.client.delete(type, { name: "refuse" });
      }
      // The server notices it a moment later.
      await waitFor("the policy to be out of force", async () => !(await isRefused()));
    },
  };
}
