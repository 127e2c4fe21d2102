/** Writes the status of templates, so that a mistake in one is never silent. */
import { apiServiceExportTemplates, crdNameOf } from "@klutch/api";
import { setConditions } from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import type { ControllerContext } from "../controller-context.ts";
import { offersPollMs, readOffers } from "../offers.ts";
import { noRightToOffer, templateState } from "./template-state.ts";

/** Keys are `namespace/name` of templates. */
export function createTemplateReconcile(context: ControllerContext): Reconcile {
  const { caches, client, clock, exportTemplates, consumerScope, clusterScopedIsolation } = context;
  return async (key, { signal }) => {
    const template = exportTemplates.get(key);
    if (template === undefined || template.metadata.deletionTimestamp !== undefined) return undefined;
    const { group = "", resource } = template.spec.APIServiceSelector;
    const name = crdNameOf({ group, resource });
    const counting = exportTemplates.template(group, resource);
    const isOffered = await readOffers(client, { signal });
    const { kind, conditions: found } = templateState({
      isOffered,
      template,
      counting,
      crd: caches.crds.get(name),
      crdNames: [...caches.crds.list()].map(({ metadata }) => metadata.name ?? ""),
      consumerScope,
      clusterScopedIsolation,
    });
    const exported = [...caches.exports.list()].filter(({ metadata }) => metadata.name === name);
    const boundClusters = counting === template ? exported.length : 0;
    const conditions = setConditions(template.status?.conditions, found, clock.now());
    // Null removes the kind of an API that is gone.
    const gone = template.status?.kind === undefined ? undefined : null;
    const status = { kind: kind ?? gone, boundClusters, conditions };
    await ensureStatus(client, apiServiceExportTemplates, template, status, { signal });
    const isWaiting = found.some(({ reason }) => reason === noRightToOffer);
    return isWaiting ? { requeueAfterMs: offersPollMs } : undefined;
  };
}
