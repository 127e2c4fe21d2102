/** A CRD or an XRD as the lines of the contract file. For tests. */
import { contractLines, type CustomResourceDefinition } from "@klutch/schema";

interface Version {
  readonly name: string;
  readonly subresources?: object | undefined;
  readonly schema: { readonly openAPIV3Schema: unknown };
  readonly additionalPrinterColumns?:
    | readonly {
        readonly name: string;
        readonly type: string;
        readonly jsonPath: string;
        readonly priority?: number;
      }[]
    | undefined;
}

interface Spec {
  readonly group: string;
  readonly scope: string;
  readonly names: {
    readonly kind: string;
    readonly plural: string;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  };
  readonly versions: readonly Version[];
}

/** A heading with names and scope, the printer columns, then every field and rule. */
export function describeCrd(crd: CustomResourceDefinition): string {
  const { group, scope, names, versions } = crd.spec as unknown as Spec;
  return versions
    .flatMap((version) => [
      `## ${names.kind} ${group}/${version.name} ${scope} ${names.plural}`,
      `short names ${names.shortNames?.join(",") ?? "none"}; categories ${names.categories?.join(",") ?? "none"}; status subresource ${version.subresources === undefined ? "no" : "yes"}`,
      ...(version.additionalPrinterColumns ?? []).map(
        ({ name, type, jsonPath, priority = 0 }) => `column ${name} ${type} ${jsonPath} ${priority}`,
      ),
      ...contractLines(version.schema.openAPIV3Schema),
    ])
    .join("\n");
}
