/** An API as the page on which a person chooses shows it: what the app cluster will get of the kind. */
import {
  type APIServiceExportTemplate,
  ExportError,
  exportFromCrd,
  type ExportSnapshot,
  type PermissionClaim,
  withoutHiddenFields,
} from "@klutch/api";
import { type KubeObject, recordAt, textAt, valueAt } from "@klutch/kube-core";

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
}

/** A field that its schema describes, or that Crossplane adds for people. */
export interface OfferedField {
  readonly name: string;
  readonly about: string;
}

/** Returns the kind as the template offers it; undefined if it cannot be exported. */
export function offeredApi(template: APIServiceExportTemplate, crd: KubeObject): OfferedApi | undefined {
  const snapshot = snapshotOf(template, crd);
  if (snapshot === undefined) return undefined;
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
  };
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

function snapshotOf(template: APIServiceExportTemplate, crd: KubeObject): ExportSnapshot | undefined {
  try {
    return exportFromCrd(withoutHiddenFields(crd, template)).spec;
  } catch (error) {
    if (error instanceof ExportError) return undefined;
    throw error;
  }
}
