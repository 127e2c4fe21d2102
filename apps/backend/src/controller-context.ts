/** Context of every controller. */
import {
  type AppCluster,
  appClusterBindingAnnotation,
  type APIServiceExport,
  type APIServiceExportRequest,
  type APIServiceNamespace,
  type ClusterBinding,
  type ClusterScopedIsolation,
  type Grant,
  type InformerScope,
  type KonnectorRollout,
  type Tenant,
  type TenantBudget,
} from "@klutch/api";
import type { Clock, KubeClient } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import type { BudgetState } from "@klutch/services/prices";
import type { Audit } from "./audit/audit.ts";
import type { MayAdd } from "./authorization/additions.ts";
import type { IsGranted } from "./authorization/grants.ts";
import type { Limits } from "./limits.ts";
import type { ExportTemplates } from "./export-templates.ts";
import type { CredentialIssuer } from "./provisioning/credentials.ts";

/** Caches of the provider cluster. */
export interface Caches {
  readonly requests: Informer<APIServiceExportRequest>;
  readonly exports: Informer<APIServiceExport>;
  readonly mappings: Informer<APIServiceNamespace>;
  readonly bindings: Informer<ClusterBinding>;
  readonly crds: Informer<KubeObject>;
  /** Metadata only. */
  readonly namespaces: Informer<KubeObject>;
  /** Service accounts of app clusters, metadata only. */
  readonly accounts: Informer<KubeObject>;
  readonly grants: Informer<Grant>;
  readonly tenants: Informer<Tenant>;
  readonly appClusters: Informer<AppCluster>;
  readonly rollouts: Informer<KonnectorRollout>;
  /** Quotas with the limits of tenants, in their service namespaces. */
  readonly limitQuotas: Informer<KubeObject>;
}

/** Ends of credentials, as far as this process has checked them. */
export interface KnownEnds {
  /** Returns milliseconds since the epoch, undefined for a credential that does not end; or `unknown`. */
  endOf(namespace: string): number | undefined | "unknown";
  /** Calls `handler` with the cluster namespace when an end becomes known or changes. */
  onChange(handler: (namespace: string) => void): void;
}

/** A budget beside this month's bill. */
export interface BudgetReport {
  /** `YYYY-MM`, in UTC. */
  readonly month: string;
  /** `unread`: the usage could not be listed. */
  readonly state: BudgetState | { readonly kind: "unread" };
  /** Says why there are no prices at all. */
  readonly fault: string | undefined;
}

/** Reports about budgets. */
export interface KnownBudgets {
  /** Returns the report, which stays the same until its words would change; undefined before the first bill. */
  reportOf(namespace: string, budget: TenantBudget): BudgetReport | undefined;
  /** Calls `handler` with the cluster namespace when a report changes. */
  onChange(handler: (namespace: string) => void): void;
}

/** Shared by all controllers. */
export interface ControllerContext {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly exportTemplates: ExportTemplates;
  readonly credentials: CredentialIssuer;
  /** Ends of the credentials that `credentials` issued or checked. */
  readonly credentialEnds: KnownEnds;
  /** Reports about budgets. Default: there are none. */
  readonly budgets?: KnownBudgets | undefined;
  /** URL at which konnectors renew credentials; undefined if this backend serves no HTTP routes. */
  readonly renewalUrl: string | undefined;
  readonly consumerScope: InformerScope;
  readonly clusterScopedIsolation: ClusterScopedIsolation;
  readonly limits: Limits;
  readonly clock: Clock;
  /** Probes of one app cluster that are answered in a minute (designs/0031); 0: none. Default 12. */
  readonly canaryAnswersPerMinute?: number | undefined;
  readonly audit: Audit;
  /** Returns whether an app cluster may get an API that it has not got yet; undefined where everyone may bind everything. */
  readonly isGranted?: IsGranted | undefined;
  /** Returns whether an app cluster is told of an API that it may bind. */
  readonly mayAdd: MayAdd;
}

/** Index of namespaced objects by namespace. */
export const byNamespace = "namespace";

/** Index of service namespaces by the cluster namespace of their tenant. */
export const byTenant = "tenant";

/** Values of the index `byNamespace`. */
export function namespaceOf({
  metadata,
}: {
  readonly metadata: { readonly namespace?: string | undefined };
}): readonly string[] {
  return metadata.namespace === undefined ? [] : [metadata.namespace];
}

/** Returns true for the namespace of an AppClusterBinding: an operator made it, and it has no people. */
export function isOperators(place: KubeObject | undefined): boolean {
  return place?.metadata.annotations?.[appClusterBindingAnnotation] !== undefined;
}
