/** Accounts of the packages, with the rights that Crossplane's RBAC manager (2.3, `internal/controller/rbac/provider/roles`) gives them. */
import { providerCrds } from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { roleBindingObject, roleObject, serviceAccountObject } from "@klutch/kube-testing";

interface PackageAccount {
  readonly namespace: string;
  readonly name: string;
}

/** Accounts as Crossplane names them: after the package and its revision. */
export const packageAccounts: Readonly<Record<"provider" | "function", PackageAccount>> = {
  provider: { namespace: "crossplane-system", name: "klutch-provider-anynines-0123456789ab" },
  function: { namespace: "crossplane-system", name: "klutch-function-klutch-0123456789ab" },
};

/** Returns the accounts, and the role of the provider; a function has none. */
export function packageRights(): readonly KubeObject[] {
  const name = "crossplane:provider:klutch-provider-anynines:system";
  const groups = Map.groupBy(providerCrds, ({ spec }) => String(spec["group"]));
  const rules = [...groups].flatMap(([group, crds]) => {
    const plurals = crds.map(({ metadata }) => metadata.name.split(".")[0] ?? "");
    return [
      {
        apiGroups: [group],
        resources: plurals.flatMap((plural) => [plural, `${plural}/status`]),
        verbs: ["get", "list", "watch", "update", "patch", "create"],
      },
      { apiGroups: [group], resources: ["*/finalizers"], verbs: ["update"] },
    ];
  });
  const system = {
    apiGroups: ["", "coordination.k8s.io"],
    resources: ["secrets", "configmaps", "events", "leases"],
    verbs: ["*"],
  };
  return [
    ...Object.values(packageAccounts).map(serviceAccountObject),
    roleObject({ name }, [...rules, system]),
    roleBindingObject({ name }, { kind: "ClusterRole", name }, packageAccounts.provider),
  ];
}
