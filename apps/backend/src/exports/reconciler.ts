/** Keeps exports equal to the CRDs of the provider cluster and to the claims of their templates. */
import { apiServiceExports } from "@klutch/api";
import { setConditions } from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import type { ControllerContext } from "../controller-context.ts";
import { guarded, planExport } from "./export-plan.ts";

/** Keys are `namespace/name` of exports. */
export function createExportReconcile(context: ControllerContext): Reconcile {
  const { caches, client, clock, exportTemplates } = context;
  return async (key, { signal }) => {
    const object = caches.exports.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
    const { namespace = "", name = "", resourceVersion } = object.metadata;
    const { group, names } = object.spec;
    const template = exportTemplates.template(group, names.plural);
    const types = exportTemplates.serviceTypes(group, template);
    const plan = planExport(object, caches.crds.get(name), template, types);
    if (plan.kind === "write") {
      const patch = guarded(plan.patch, resourceVersion);
      await client.mergePatch(apiServiceExports, { namespace, name }, patch, { signal });
      return undefined;
    }
    const conditions = setConditions(object.status?.conditions, [plan.condition], clock.now());
    await ensureStatus(client, apiServiceExports, object, { conditions }, { signal });
    return undefined;
  };
}
