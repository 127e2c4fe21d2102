/** The composites and claims of the shipped Configuration as XRDs. Source: reference/provider.md §5.1–5.4. */
import { anyObject, boolean, type JsonSchema, object, oneOf, string } from "@klutch/schema";
import { claimGroup } from "./names.ts";
import { foreignParameters, postgresqlParameters } from "./postgresql-parameters.ts";
import { postgresqlRules } from "./postgresql-plans.ts";

/** A CompositeResourceDefinition (apiextensions.crossplane.io/v1) as JSON. */
export interface CompositeResourceDefinition {
  readonly apiVersion: "apiextensions.crossplane.io/v1";
  readonly kind: "CompositeResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Data services a claim may name. */
export const instanceTypes = [
  "keyvalue",
  "postgresql",
  "mongodb",
  "search",
  "logme2",
  "prometheus",
  "messaging",
  "mariadb",
] as const;

interface XrdOptions {
  readonly kind: string;
  readonly composition: string;
  readonly compositeDeletePolicy?: "Foreground" | undefined;
  readonly spec: { readonly json: JsonSchema };
}

function xrd(options: XrdOptions): CompositeResourceDefinition {
  const plural = `${options.kind.toLowerCase()}s`;
  const composite = `X${options.kind}`;
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositeResourceDefinition",
    metadata: { name: `x${plural}.${claimGroup}` },
    spec: {
      group: claimGroup,
      names: { kind: composite, plural: `x${plural}` },
      claimNames: { kind: options.kind, plural },
      defaultCompositionRef: { name: options.composition },
      ...(options.compositeDeletePolicy === undefined
        ? {}
        : { defaultCompositeDeletePolicy: options.compositeDeletePolicy }),
      versions: [
        {
          name: "v1",
          served: true,
          referenceable: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: options.spec.json,
                status: object(
                  {},
                  { managed: anyObject({ description: "What the managed resource reports." }) },
                ).json,
              },
              required: ["spec"],
            },
          },
        },
      ],
    },
  };
}

const immutable = (field: string): { readonly rule: string; readonly message: string } => ({
  rule: "self == oldSelf",
  message: `${field} is an immutable field`,
});

const parameters = object(
  {},
  Object.fromEntries(
    [...postgresqlParameters, ...foreignParameters].map(({ name, schema }) => [name, schema]),
  ),
  { description: "Settings of the database server." },
);

/** A claim written for the other PostgreSQL is told so; without the field, the setting would be dropped without a word. */
const foreignParameterRules = foreignParameters.map(({ name }) => ({
  rule: `!has(self.parameters) || !has(self.parameters.${name})`,
  message: `parameters.${name} is not supported for a9s-postgresql`,
}));

/** PostgresqlInstance. */
export const postgresqlInstanceXrd: CompositeResourceDefinition = xrd({
  kind: "PostgresqlInstance",
  composition: "a9s-postgresql",
  compositeDeletePolicy: "Foreground",
  spec: object(
    {
      service: string({ maxLength: 64, description: "The offering.", rules: [immutable("Service")] }),
      plan: string({ maxLength: 64, description: "The plan of the offering." }),
    },
    {
      acceptsIncomplete: boolean({ description: "The broker may answer before it is done." }),
      parameters,
      expose: oneOf(["Internal", "LoadBalancer"], {
        description: "Only for databases that run in the cluster.",
      }),
    },
    { rules: [...postgresqlRules, ...foreignParameterRules] },
  ),
});

/** ServiceBinding. */
export const serviceBindingXrd: CompositeResourceDefinition = xrd({
  kind: "ServiceBinding",
  composition: "a9s-servicebinding",
  spec: object(
    {
      instanceRef: string({
        maxLength: 253,
        description: "Name of the instance's claim in the same namespace.",
        rules: [immutable("InstanceRef")],
      }),
      serviceInstanceType: oneOf(instanceTypes, {
        description: "Which data service the instance is.",
        rules: [immutable("ServiceInstanceType")],
      }),
    },
    { acceptsIncomplete: boolean({ description: "The broker may answer before it is done." }) },
  ),
});

/** All of them. */
export const xrds: readonly CompositeResourceDefinition[] = [postgresqlInstanceXrd, serviceBindingXrd];
