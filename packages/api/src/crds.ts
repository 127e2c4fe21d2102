/** All CRDs of Klutch, by where they are installed. */
import type { CustomResourceDefinition } from "@klutch/schema";
import { apiServiceBindingCrd } from "./kinds/api-service-binding.ts";
import { apiServiceExportCrd } from "./kinds/api-service-export.ts";
import { apiServiceExportRequestCrd } from "./kinds/api-service-export-request.ts";
import { apiServiceExportTemplateCrd } from "./kinds/api-service-export-template.ts";
import { apiServiceNamespaceCrd } from "./kinds/api-service-namespace.ts";
import { appClusterBindingCrd } from "./kinds/app-cluster-binding.ts";
import { appClusterCrd } from "./kinds/app-cluster.ts";
import { backupCrds, restoreCrds } from "./kinds/backup.ts";
import { clusterBindingCrd } from "./kinds/cluster-binding.ts";
import { grantCrd } from "./kinds/grant.ts";
import { konnectorRolloutCrd } from "./kinds/konnector-rollout.ts";
import { managedServiceBindingCrds } from "./kinds/managed-service-binding.ts";
import {
  clusterProviderConfigCrd,
  providerConfigCrds,
  providerConfigUsageCrds,
  storeConfigCrd,
} from "./kinds/provider-config.ts";
import { serviceInstanceCrds } from "./kinds/service-instance.ts";
import { tenantCrd } from "./kinds/tenant.ts";
import { usageLedgerCrd } from "./kinds/usage-ledger.ts";

/** The bind kinds of the control plane cluster. An app cluster needs only APIServiceBinding. */
export const bindCrds: readonly CustomResourceDefinition[] = [
  apiServiceBindingCrd,
  apiServiceExportCrd,
  apiServiceExportRequestCrd,
  apiServiceExportTemplateCrd,
  apiServiceNamespaceCrd,
  appClusterBindingCrd,
  appClusterCrd,
  clusterBindingCrd,
  grantCrd,
  konnectorRolloutCrd,
  tenantCrd,
];

/** The kinds of the provider, which its Crossplane package carries: those for cluster-scoped managed resources, then those for namespaced ones. */
export const providerCrds: readonly CustomResourceDefinition[] = [
  backupCrds.cluster,
  managedServiceBindingCrds.cluster,
  providerConfigCrds.cluster,
  providerConfigUsageCrds.cluster,
  restoreCrds.cluster,
  serviceInstanceCrds.cluster,
  storeConfigCrd,
  usageLedgerCrd,
  backupCrds.namespaced,
  clusterProviderConfigCrd,
  managedServiceBindingCrds.namespaced,
  providerConfigCrds.namespaced,
  providerConfigUsageCrds.namespaced,
  restoreCrds.namespaced,
  serviceInstanceCrds.namespaced,
];
