/** Usage and prices, as the provider and an operator would have written them. */
import { providerCrds, usageLedgers } from "@klutch/api";
import { createKubeClient, type KubeClient } from "@klutch/kube";
import {
  clusterRoleBindings,
  configMaps,
  type DynamicObject,
  namespaces,
  type ObjectRef,
  serviceAccounts,
} from "@klutch/kube-core";
import {
  accountConfig,
  installKinds,
  namespaceObject,
  roleBindingObject,
  serviceAccountObject,
  type TestCluster,
} from "@klutch/kube-testing";

/** Records 10 hours of this month for each tenant, with its plan of the service `pg`. The plan `small` costs 0.50 EUR an hour. */
export async function recordUsage(
  client: KubeClient,
  plans: Readonly<Record<string, string>>,
): Promise<void> {
  const month = new Date().toISOString().slice(0, 7);
  await installKinds(client, providerCrds);
  for (const [tenant, plan] of Object.entries(plans)) {
    const row = { service: "pg", plan, config: "broker", month, seconds: 36_000, ended: 2 };
    await client.create<DynamicObject>(usageLedgers, {
      apiVersion: "dataservices.anynines.com/v1",
      kind: "UsageLedger",
      metadata: { name: `${tenant}.now` },
      spec: { namespace: tenant, year: Number(month.slice(0, 4)), rows: [row] },
    });
  }
  await client.create(namespaces, namespaceObject("crossplane-system", {}));
  await client.create<DynamicObject>(configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "crossplane-system", name: "klutch-prices" },
    data: {
      "prices.yaml":
        'apiVersion: services.klutch.anynines.com/v1alpha1\nkind: PriceList\nprices:\n  - { service: pg, plan: small, price: { currency: EUR, perHour: "0.5" } }\n',
    },
  });
}

/** Creates an account that is bound to the ClusterRole of the same name, and acts as it. The caller disposes of the client. */
export async function boundAccount(cluster: TestCluster, account: ObjectRef): Promise<KubeClient> {
  const { client } = cluster;
  const { name } = account;
  await client.create(serviceAccounts, serviceAccountObject(account));
  const role = { kind: "ClusterRole", name } as const;
  await client.create(clusterRoleBindings, roleBindingObject({ name }, role, account));
  return createKubeClient(await accountConfig(cluster, account));
}
