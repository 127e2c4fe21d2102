/** Keeps the schema in exports equal to the CRDs' in the provider cluster. */
import {
  apiServiceExports,
  exportFromCrd,
  ExportError,
  falseCondition,
  setConditions,
  sourceSpecHashAnnotation,
  trueCondition,
} from "@klutch/api";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import type { ControllerContext } from "./context.ts";

const inSync = "ProviderInSync";

/** Keys are `namespace/name` of exports. */
export function createExportReconcile(context: ControllerContext): Reconcile {
  const { caches, client, clock } = context;
  return async (key, { signal }) => {
    const object = caches.exports.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
    const { namespace = "", name = "", annotations, resourceVersion } = object.metadata;
    const ref = { namespace, name };
    const crd = caches.crds.get(name);
    if (crd === undefined) {
      // The API is gone in the provider cluster. Objects of the app cluster keep their own CRD and data.
      await client.delete(apiServiceExports, ref, { signal, preconditions: { resourceVersion } });
      return undefined;
    }
    let condition = trueCondition(inSync);
    try {
      const { spec, hash } = exportFromCrd(crd);
      if (annotations?.[sourceSpecHashAnnotation] !== hash) {
        const patch = {
          metadata: { resourceVersion, annotations: { [sourceSpecHashAnnotation]: hash } },
          // A kind that app clusters get as a cluster-scoped one stays one.
          spec: object.spec.clusterScopedIsolation === "Namespaced" ? { ...spec, scope: "Cluster" } : spec,
        };
        await client.mergePatch(apiServiceExports, ref, patch, { signal });
        return undefined;
      }
    } catch (error) {
      if (!(error instanceof ExportError)) throw error;
      condition = falseCondition(inSync, "CustomResourceDefinitionUpdateFailed", "Error", error.message);
    }
    const conditions = setConditions(object.status?.conditions, [condition], clock.now());
    await ensureStatus(client, apiServiceExports, object, { conditions }, { signal });
    return undefined;
  };
}
