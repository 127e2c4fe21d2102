/**
 * Bounds the number of objects that an app cluster's account may keep in its cluster namespace, so that no tenant fills the control plane's
 * storage or the backend's memory. It is twice what the backend serves, so that the object beyond a limit still says that it waits.
 */
import { apiServiceExportRequests, apiServiceNamespaces, tenantQuotaName } from "@klutch/api";
import { isForbidden, type KubeClient } from "@klutch/kube";
import { type KubeObject, resourceQuotas, type ResourceType } from "@klutch/kube-core";
import type { Logger } from "@klutch/telemetry";
import { keep, type RepeatOptions } from "../apply.ts";
import type { Limits } from "../limits.ts";

/** Keeps the quota. A backend whose account may not write it yet, because the roles are of an earlier release, logs that and goes on. */
export async function ensureTenantQuota(
  client: KubeClient,
  namespace: string,
  limits: Limits,
  { logger, ...options }: RepeatOptions & { readonly logger: Logger },
): Promise<void> {
  const counted = ({ plural, group }: ResourceType): string => `count/${plural}.${group}`;
  const quota: KubeObject & { readonly spec: object } = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { namespace, name: tenantQuotaName },
    spec: {
      hard: {
        [counted(apiServiceNamespaces)]: twice(limits.namespacesPerCluster),
        [counted(apiServiceExportRequests)]: twice(limits.requestsPerCluster),
      },
    },
  };
  try {
    await keep(client, resourceQuotas, quota, options);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    logger.warn(
      "the quota of a tenant could not be written; apply the roles and the policy of this release",
      {
        namespace,
        error,
      },
    );
  }
}

/** One more than twice: an odd number, because the API server would write 1000 as 1k, and the two would never be equal. */
function twice(most: number): string {
  return String(2 * most + 1);
}
