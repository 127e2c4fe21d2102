/** Prints CustomResourceDefinitions (apiextensions.k8s.io/v1). */
import type { JsonSchema, Rule, Schema } from "./schema.ts";

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description?: string | undefined;
  /** 0 is always shown, more only with `-o wide`. Default 0. */
  readonly priority?: number | undefined;
}

/** Options of a kind with one version. */
export interface CrdOptions {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  readonly columns?: readonly PrinterColumn[] | undefined;
  /** Fields besides apiVersion, kind and metadata. */
  readonly fields: Readonly<Record<string, Schema<never> | { readonly json: JsonSchema }>>;
  readonly required?: readonly string[] | undefined;
  /** CEL rules of the whole object. */
  readonly rules?: readonly Rule[] | undefined;
  readonly description: string;
  /** Default true. */
  readonly statusSubresource?: boolean | undefined;
}

/** A CustomResourceDefinition as JSON. */
export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The CRD of a kind; the same input gives the same output. */
export function customResourceDefinition(options: CrdOptions): CustomResourceDefinition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${options.plural}.${options.group}` },
    spec: {
      group: options.group,
      names: {
        kind: options.kind,
        listKind: `${options.kind}List`,
        plural: options.plural,
        singular: options.kind.toLowerCase(),
        ...(options.shortNames === undefined ? {} : { shortNames: options.shortNames }),
        ...(options.categories === undefined ? {} : { categories: options.categories }),
      },
      scope: options.scope,
      versions: [
        {
          name: options.version,
          served: true,
          storage: true,
          ...(options.columns === undefined ? {} : { additionalPrinterColumns: options.columns }),
          ...(options.statusSubresource === false ? {} : { subresources: { status: {} } }),
          schema: { openAPIV3Schema: rootSchema(options) },
        },
      ],
    },
  };
}

function rootSchema(options: CrdOptions): JsonSchema {
  const fields = Object.entries(options.fields).map(([name, schema]) => [name, schema.json] as const);
  return {
    type: "object",
    description: options.description,
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      ...Object.fromEntries(fields),
    },
    ...(options.required === undefined ? {} : { required: options.required }),
    ...(options.rules === undefined ? {} : { "x-kubernetes-validations": options.rules }),
  };
}
