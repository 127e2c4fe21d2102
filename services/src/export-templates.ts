/** What offers the claims to app clusters. */
import { claimGroup, serviceTypeFieldAnnotation, serviceTypeLabel, templateGroup } from "@klutch/api";
import { claimResource, type DataService } from "./data-service.ts";
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
  readonly spec: object;
}

function template(kind: string, metadata: object, more: object = {}): TemplateManifest {
  const { plural } = claimResource(kind);
  return {
    apiVersion: `${templateGroup}/v1alpha1`,
    kind: "APIServiceExportTemplate",
    metadata: { name: plural, namespace: "crossplane-system", ...metadata },
    spec: { APIServiceSelector: { group: claimGroup, resource: plural }, ...more },
  };
}

/** What offers a service's instances. */
export function instanceTemplate({ kind, type }: DataService): TemplateManifest {
  return template(kind, { labels: { [serviceTypeLabel]: type } });
}

/** A kind of all services: app clusters are offered the types of those that are offered to them. */
function sharedTemplate(kind: string, more: object = {}): TemplateManifest {
  return template(kind, { annotations: { [serviceTypeFieldAnnotation]: "spec.serviceInstanceType" } }, more);
}

/** Field selectors of Secrets with credentials: those of connections, and those that the operator of a8s makes and labels. */
const credentials: readonly string[] = [
  "type=connection.crossplane.io/v1alpha1",
  "metadata.labels.service-binding=true",
];

/**
 * One for each service and shared kind. Credentials of bindings reach the app cluster as Secrets that the provider owns; no other Secret of
 * the namespace does.
 */
export const exportTemplates: readonly TemplateManifest[] = [
  ...services.map(instanceTemplate),
  sharedTemplate("ServiceBinding", {
    permissionClaims: [
      {
        group: "",
        resource: "secrets",
        version: "v1",
        required: true,
        selector: { owner: "Provider", fieldSelectors: credentials },
      },
    ],
  }),
  sharedTemplate("Backup"),
  sharedTemplate("Restore"),
];
