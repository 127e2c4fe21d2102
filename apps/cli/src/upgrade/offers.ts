/** Finds the APIs of a control plane on which its backend will be able to give app clusters no rights. */
import {
  aggregateToBackendLabel,
  apiServiceExportTemplates,
  crdNameOf,
  offerVerb,
  shippedOffers,
} from "@klutch/api";
import {
  clusterRoles,
  type DynamicObject,
  keyOf,
  listAt,
  recordAt,
  recordsAt,
  textAt,
} from "@klutch/kube-core";
import { exportTemplatesOf, generations } from "@klutch/services";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings, type Obstacle } from "./report.ts";

/** Compares the templates with the list of offers that the release brings and that operators wrote. */
export async function lookAtOffers(reader: ClusterReader): Promise<Findings> {
  const templates = await reader.list(apiServiceExportTemplates);
  const roles = templates.length === 0 ? [] : await reader.list(clusterRoles);
  return findings({ against: offerObstacles(templates, roles) });
}

/** Returns an obstacle for each template with a kind that neither the release nor one of the ClusterRoles offers. */
export function offerObstacles(
  templates: readonly DynamicObject[],
  roles: readonly DynamicObject[],
): readonly Obstacle[] {
  const written = roles
    .filter(({ metadata }) => metadata.labels?.[aggregateToBackendLabel] === "true")
    .flatMap((role) => recordsAt(role, "rules"));
  const offers = [...written, ...shippedOffers(generations.flatMap(exportTemplatesOf))].filter((rule) =>
    listAt(rule, "verbs").includes(offerVerb),
  );
  return templates.flatMap((template) => {
    const spec = recordAt(template.spec);
    const kinds = [recordAt(spec, "APIServiceSelector"), ...recordsAt(spec, "permissionClaims")].map(
      (kind) => ({ group: textAt(kind, "group") ?? "", resource: textAt(kind, "resource") ?? "" }),
    );
    const missing = kinds.filter(
      ({ group, resource }) =>
        !offers.some(
          (rule) => listAt(rule, "apiGroups").includes(group) && listAt(rule, "resources").includes(resource),
        ),
    );
    return missing.length === 0 ? [] : [obstacle(template, new Set(missing.map(crdNameOf)))];
  });
}

function obstacle(template: DynamicObject, names: ReadonlySet<string>): Obstacle {
  return {
    object: `APIServiceExportTemplate ${keyOf(template)}`,
    field: "spec",
    value: [...names].join(", "),
    expected:
      `a rule with the verb ${offerVerb} for it in a ClusterRole with the label ${aggregateToBackendLabel}: apply the one of ` +
      "docs/offer-an-api.md, else the backend gives app clusters no rights on it after the upgrade",
  };
}
