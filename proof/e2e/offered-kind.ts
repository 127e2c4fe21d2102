/** A kind of a test's own, offered to app clusters as docs/offer-an-api.md says. */
import { aggregateToBackendLabel, apiServiceExportTemplates, crdNameOf, offerRules } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type ResourceType,
} from "@klutch/kube-core";
import { objectOfType } from "@klutch/kube-testing";

/** Installs the kind in the control plane, and offers it by a template of its plural in Crossplane's namespace. */
export async function offerKind(
  controlPlane: KubeClient,
  { group, plural }: ResourceType,
  crd: DynamicObject,
): Promise<void> {
  await controlPlane.create(customResourceDefinitions, crd);
  const spec = { APIServiceSelector: { group, resource: plural } };
  const name = `klutch-backend-claims-${crdNameOf({ group, resource: plural })}`;
  const role = objectOfType(clusterRoles, { name, labels: { [aggregateToBackendLabel]: "true" } });
  await controlPlane.create(clusterRoles, { ...role, rules: offerRules([{ spec }]) });
  await controlPlane.create(
    apiServiceExportTemplates,
    objectOfType(apiServiceExportTemplates, { name: plural, namespace: "crossplane-system" }, { spec }),
  );
}
