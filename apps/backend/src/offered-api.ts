/** An API as the page on which a person chooses shows it: what the app cluster will get of the kind. */
import {
  type APIServiceExportTemplate,
  checkApiName,
  checkReadyCondition,
  checkSecretNameField,
  type ClusterScopedIsolation,
  consumerScopeAnnotation,
  crdNameOf,
  displayName,
  ExportError,
  exportFromCrd,
  type ExportSnapshot,
  type InformerScope,
  type PermissionClaim,
  serviceBackupsAnnotation,
  serviceTitleAnnotation,
  serviceTypeFieldAnnotation,
  serviceTypeLabel,
  type TemplateReference,
  withoutHiddenFields,
} from "@klutch/api";
import { type KubeObject, listAt, recordAt, textAt, valueAt } from "@klutch/kube-core";
import type { MonthlyPrice, OfferedPrice } from "@klutch/services/prices";

/** An API as the page and the binding need it. */
export interface OfferedApi {
  readonly resource: string;
  readonly group: string;
  readonly kind: string;
  readonly scope: ExportSnapshot["scope"];
  readonly description: string;
  /** First-level fields of the spec, and the field that chooses the Composition. */
  readonly fields: readonly OfferedField[];
  readonly permissionClaims: readonly PermissionClaim[];
  /** The template that offers it. */
  readonly template: TemplateReference;
  /** Place among the data services; undefined for an API that says nothing of them. */
  readonly service?: OfferedService | undefined;
  /** Prices of its plans. */
  readonly prices?: readonly OfferedPrice[] | undefined;
}

/** A plan of an offered kind. */
export interface PricedPlan {
  readonly name: string;
  /** The services with this price, if not all of the kind have it. */
  readonly services: readonly string[];
  readonly perMonth: MonthlyPrice | undefined;
}

/** Place of an API among the data services of its API group, as labels and annotations of its template say it. */
export type OfferedService =
  | {
      readonly kind: "own";
      readonly type: string;
      /** Name for people. */
      readonly title: string;
      /** Default false. */
      readonly isWithoutBackups?: boolean | undefined;
    }
  /** A kind of all services, or of the listed types. */
  | {
      readonly kind: "shared";
      readonly types: readonly string[] | undefined;
      /** It is for services that have backups. Default false. */
      readonly needsBackups?: boolean | undefined;
    };

/** A field that its schema describes, or that Crossplane adds for people. */
export interface OfferedField {
  readonly name: string;
  readonly about: string;
}

/** Scopes of APIs that this backend shares, from its flags. */
export interface OfferScopes {
  readonly consumerScope: InformerScope;
  readonly clusterScopedIsolation: ClusterScopedIsolation;
}

/** Cause why a template offers nothing. */
export interface OfferFault {
  readonly reason: "ApiNotAllowed" | "CRDNotFound" | "CRDInvalid" | "ScopeNotAllowed";
  readonly message: string;
}

/** Returns why app clusters cannot bind the API of a template; undefined if they can. `crd` is undefined if there is none. */
export function offerFault(
  template: APIServiceExportTemplate,
  crd: KubeObject | undefined,
  scopes: OfferScopes,
): OfferFault | undefined {
  const { group = "", resource } = template.spec.APIServiceSelector;
  const forbidden = checkApiName(group, resource);
  if (forbidden !== undefined) return { reason: "ApiNotAllowed", message: forbidden };
  const name = crdNameOf({ group, resource });
  if (crd === undefined) {
    const message = `CustomResourceDefinition ${name} does not exist in this cluster`;
    return { reason: "CRDNotFound", message };
  }
  const snapshot = snapshotOf(template, crd);
  if (snapshot instanceof ExportError) return { reason: "CRDInvalid", message: snapshot.message };
  const problem = scopeProblem(name, snapshot.scope, template, scopes);
  return problem === undefined ? undefined : { reason: "ScopeNotAllowed", message: problem };
}

/** Returns why a kind of this scope cannot be shared with the flags of this backend. */
export function scopeProblem(
  name: string,
  scope: ExportSnapshot["scope"],
  template: APIServiceExportTemplate,
  { consumerScope, clusterScopedIsolation }: OfferScopes,
): string | undefined {
  const isLifted =
    scope === "Namespaced" && template.metadata.annotations?.[consumerScopeAnnotation] === "Cluster";
  if (scope === "Cluster" && clusterScopedIsolation === "Namespaced")
    return `${name} is cluster-scoped, so its objects cannot be put into a namespace; use another --cluster-scoped-isolation for it`;
  if ((scope === "Cluster" || isLifted) && consumerScope !== "Cluster")
    return `${name} is cluster-scoped in app clusters, which needs --consumer-scope=cluster in the backend`;
  return undefined;
}

/** Returns the kind as the template offers it; undefined if it cannot be exported. */
export function offeredApi(template: APIServiceExportTemplate, crd: KubeObject): OfferedApi | undefined {
  const snapshot = snapshotOf(template, crd);
  if (snapshot instanceof ExportError) return undefined;
  const { group, names, scope, versions } = snapshot;
  const schema = versions[0]?.schema.openAPIV3Schema;
  const spec = recordAt(schema, "properties", "spec");
  return {
    resource: names.plural,
    group,
    kind: names.kind,
    scope,
    description: textAt(schema, "description") ?? "",
    fields: [...describedFields(spec), ...choiceField(spec)],
    permissionClaims: template.spec.permissionClaims ?? [],
    template: templateRefOf(template),
    ...serviceOf(template, schema),
  };
}

function serviceOf(
  { metadata }: APIServiceExportTemplate,
  schema: unknown,
): { readonly service?: OfferedService } {
  const type = metadata.labels?.[serviceTypeLabel];
  const backups = metadata.annotations?.[serviceBackupsAnnotation];
  if (type !== undefined && type !== "") {
    const title = displayName(metadata.annotations?.[serviceTitleAnnotation]) ?? type;
    return { service: { kind: "own", type, title, ...(backups === "none" && { isWithoutBackups: true }) } };
  }
  const field = metadata.annotations?.[serviceTypeFieldAnnotation];
  if (field === undefined) return {};
  const path = field.split(".").flatMap((name) => ["properties", name]);
  const types = listAt(schema, ...path, "enum").filter((value) => typeof value === "string");
  const taken = types.length === 0 ? undefined : types;
  return { service: { kind: "shared", types: taken, ...(backups === "needed" && { needsBackups: true }) } };
}

/** Returns the place of a template. */
export function templateRefOf({
  metadata: { namespace = "", name = "" },
}: Pick<APIServiceExportTemplate, "metadata">): TemplateReference {
  return { namespace, name };
}

/** The field of a composite of Crossplane 2 in which everything is that Crossplane adds to its spec. */
const machinery = "crossplane";

/** Leaves out fields without a description: they are for machines, such as those that Crossplane adds to a claim. */
function describedFields(spec: unknown): readonly OfferedField[] {
  const fields = recordAt(spec, "properties");
  return Object.entries(fields).flatMap(([name, field]) => {
    const about = textAt(field, "description");
    return about === undefined || name === machinery ? [] : [{ name, about }];
  });
}

/** Returns the field by which a claim or a composite names its Composition; Crossplane does not describe it. */
function choiceField(spec: unknown): readonly OfferedField[] {
  const places = [["compositionRef"], [machinery, "compositionRef"]];
  const place = places.find(
    (path) => valueAt(spec, ...path.flatMap((name) => ["properties", name])) !== undefined,
  );
  return place === undefined ? [] : [{ name: [...place, "name"].join("."), about: choiceWords }];
}

const choiceWords =
  "The provider's Composition that makes it. Default: the provider's default one. In a description, text behind “with” and a name applies to the Composition of that name.";

function snapshotOf(template: APIServiceExportTemplate, crd: KubeObject): ExportSnapshot | ExportError {
  try {
    checkSecretNameField(crd, template);
    checkReadyCondition(template);
    return exportFromCrd(withoutHiddenFields(crd, template)).spec;
  } catch (error) {
    if (error instanceof ExportError) return error;
    throw error;
  }
}
