/** What offers the claims to app clusters. */
import { claimGroup, templateGroup } from "@klutch/api";
import { claimResource, type DataService } from "./data-service.ts";
import { services } from "./list.ts";

/** An APIServiceExportTemplate as it is applied. */
export interface TemplateManifest {
  readonly apiVersion: string;
  readonly kind: "APIServiceExportTemplate";
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
}

function template(kind: string, more: object = {}): TemplateManifest {
  const { plural } = claimResource(kind);
  return {
    apiVersion: `${templateGroup}/v1alpha1`,
    kind: "APIServiceExportTemplate",
    metadata: { name: plural, namespace: "crossplane-system" },
    spec: { APIServiceSelector: { group: claimGroup, resource: plural }, ...more },
  };
}

/** What offers a service's instances. */
export function instanceTemplate({ kind }: DataService): TemplateManifest {
  return template(kind);
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
  template("ServiceBinding", {
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
  template("Backup"),
  template("Restore"),
];
