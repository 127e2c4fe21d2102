/** Builds the templates that offer the claims to app clusters. */
import {
  hiddenFieldsAnnotation,
  type OfferingTemplate,
  serviceBackupsAnnotation,
  serviceTitleAnnotation,
  serviceTypeFieldAnnotation,
  serviceTypeLabel,
  templateGroup,
} from "@klutch/api";
import { claimResource, type DataService } from "./data-service.ts";
import type { Generation } from "./generation.ts";
import { services } from "./list.ts";

/** An APIServiceExportTemplate as it is applied. */
export interface TemplateManifest {
  readonly apiVersion: string;
  readonly kind: "APIServiceExportTemplate";
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec: OfferingTemplate["spec"];
}

/** Crossplane's own fields of a composite's spec. Users only choose a Composition. */
const hidden: string = [
  "compositionRevisionRef",
  "compositionRevisionSelector",
  "compositionUpdatePolicy",
  "resourceRefs",
]
  .map((field) => `spec.crossplane.${field}`)
  .join(",");

function template(
  generation: Generation,
  kind: string,
  { labels, annotations = {} }: Pick<TemplateManifest["metadata"], "labels" | "annotations">,
  more: Pick<OfferingTemplate["spec"], "permissionClaims"> = {},
): TemplateManifest {
  const { plural, group } = claimResource(kind, generation);
  const all =
    generation.machinery === "" ? annotations : { ...annotations, [hiddenFieldsAnnotation]: hidden };
  const name = generation.name === "legacy" ? plural : `${plural}.${group}`;
  return {
    apiVersion: `${templateGroup}/v1alpha1`,
    kind: "APIServiceExportTemplate",
    metadata: {
      name,
      namespace: "crossplane-system",
      ...(labels === undefined ? {} : { labels }),
      ...(Object.keys(all).length === 0 ? {} : { annotations: all }),
    },
    spec: { APIServiceSelector: { group, resource: plural }, ...more },
  };
}

/** Returns the template that offers a service's instances. */
export function instanceTemplate(
  generation: Generation,
  { hasBackups, kind, type, title }: DataService,
): TemplateManifest {
  const backups = hasBackups ? {} : { [serviceBackupsAnnotation]: "none" };
  const annotations = { ...backups, [serviceTitleAnnotation]: title };
  return template(generation, kind, { labels: { [serviceTypeLabel]: type }, annotations });
}

const needsBackups = { [serviceBackupsAnnotation]: "needed" };

/** A kind of all services: app clusters are offered the types of those that are offered to them. */
function sharedTemplate(
  generation: Generation,
  kind: string,
  besides: Readonly<Record<string, string>>,
  more: Pick<OfferingTemplate["spec"], "permissionClaims"> = {},
): TemplateManifest {
  const annotations = { ...besides, [serviceTypeFieldAnnotation]: "spec.serviceInstanceType" };
  return template(generation, kind, { annotations }, more);
}

/** Field selectors of Secrets with credentials: those of connections, and those that the operator of a8s makes and labels. */
const credentials: readonly string[] = [
  "type=connection.crossplane.io/v1alpha1",
  "metadata.labels.service-binding=true",
];

/**
 * One for each service and shared kind of a generation. Credentials of bindings reach the app cluster as Secrets that the provider owns; no other Secret of
 * the namespace does.
 */
export function exportTemplatesOf(generation: Generation): readonly TemplateManifest[] {
  const secrets = {
    group: "",
    resource: "secrets",
    version: "v1",
    required: true,
    selector: { owner: "Provider", fieldSelectors: credentials },
  };
  return [
    ...services().map((service) => instanceTemplate(generation, service)),
    sharedTemplate(generation, "ServiceBinding", {}, { permissionClaims: [secrets] }),
    sharedTemplate(generation, "Backup", needsBackups),
    sharedTemplate(generation, "Restore", needsBackups),
  ];
}
