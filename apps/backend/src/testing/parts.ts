/** Caches of a test's own, for provisioning without the HTTP side. */
import { type APIServiceExportTemplate, apiServiceExportTemplates } from "@klutch/api";
import { customResourceDefinitions, type KubeObject, namespaces } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { Informer } from "@klutch/kube-runtime";
import { ExportTemplates } from "../export-templates.ts";
import { byClusterKey, byIdentity, clusterKeysOf, identitiesOf } from "../provisioning/members.ts";

/** What provisioning reads. */
export interface BackendParts {
  readonly exportTemplates: ExportTemplates;
  readonly namespaces: Informer<KubeObject>;
}

export async function backendParts(
  client: KubeClient,
  signal: AbortSignal,
  stack: AsyncDisposableStack,
): Promise<BackendParts> {
  const templates = stack.use(
    new Informer<APIServiceExportTemplate>({ client, type: apiServiceExportTemplates }),
  );
  const crds = stack.use(new Informer<KubeObject>({ client, type: customResourceDefinitions }));
  const namespaceCache = stack.use(
    new Informer<KubeObject>({
      client,
      type: namespaces,
      metadataOnly: true,
      indexes: { [byIdentity]: identitiesOf, [byClusterKey]: clusterKeysOf },
    }),
  );
  for (const informer of [templates, crds, namespaceCache]) informer.start({ signal });
  await Promise.all([templates.whenSynced(), crds.whenSynced(), namespaceCache.whenSynced()]);
  return {
    exportTemplates: new ExportTemplates({ templates, crds, consumerScope: "Namespaced" }),
    namespaces: namespaceCache,
  };
}
