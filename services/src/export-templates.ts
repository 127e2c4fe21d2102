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

/** One for each service and shared kind. Credentials of bindings reach the app cluster as Secrets that the provider owns. */
export const exportTemplates: readonly TemplateManifest[] = [
  ...services.map(instanceTemplate),
  template("ServiceBinding", {
    permissionClaims: [
      { group: "", resource: "secrets", version: "v1", required: true, selector: { owner: "Provider" } },
    ],
  }),
  template("Backup"),
  template("Restore"),
];
