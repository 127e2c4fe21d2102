/** The composites and claims of the shipped Configuration as XRDs: one for each data service, one for bindings. */
import { claimGroup } from "@klutch/api";
import { anyObject, boolean, object, oneOf, type PrinterColumn, type Rule, string } from "@klutch/schema";
import { claimResource, compositionName, type DataService, type Field } from "./data-service.ts";
import { services } from "./list.ts";
import { offered } from "./plan-rules.ts";

/** A CompositeResourceDefinition (apiextensions.crossplane.io/v1) as JSON. */
export interface CompositeResourceDefinition {
  readonly apiVersion: "apiextensions.crossplane.io/v1";
  readonly kind: "CompositeResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * Types that bindings could always name. A binding may still name one that is not in the list of services: it is not refused, and its
 * condition says that no broker serves the type here.
 */
const typesOfOld = [
  "keyvalue",
  "postgresql",
  "mongodb",
  "search",
  "logme2",
  "prometheus",
  "messaging",
  "mariadb",
];
const instanceTypes = [...new Set([...typesOfOld, ...services.map(({ type }) => type)])];

interface XrdOptions {
  readonly kind: string;
  readonly composition: string;
  readonly compositeDeletePolicy?: "Foreground" | undefined;
  readonly columns?: readonly PrinterColumn[] | undefined;
  readonly spec: Field;
}

function xrd(options: XrdOptions): CompositeResourceDefinition {
  const { kind, plural } = claimResource(options.kind);
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositeResourceDefinition",
    metadata: { name: `x${plural}.${claimGroup}` },
    spec: {
      group: claimGroup,
      names: { kind: `X${kind}`, plural: `x${plural}` },
      claimNames: { kind, plural },
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
                  { description: "How it is. Written by Crossplane." },
                ).json,
              },
              required: ["spec"],
            },
          },
          ...(options.columns === undefined ? {} : { additionalPrinterColumns: options.columns }),
        },
      ],
    },
  };
}

const immutable = (field: string): Rule => ({
  rule: "self == oldSelf",
  message: `${field} is an immutable field`,
});
const acceptsIncomplete = boolean({
  description: "Whether the broker may answer before it is done. Default true.",
});

/** Of a service's instances. */
export function instanceXrd(service: DataService): CompositeResourceDefinition {
  const { parameters, refusedParameters = [], fields = {} } = service;
  const refused = refusedParameters.map(({ name }) => ({
    rule: `!has(self.parameters) || !has(self.parameters.${name})`,
    message: `parameters.${name} is not supported for ${compositionName(service)}`,
  }));
  return xrd({
    kind: service.kind,
    composition: compositionName(service),
    compositeDeletePolicy: "Foreground",
    columns: service.columns,
    spec: object(
      {
        service: string({
          maxLength: 64,
          description: "The offering. It cannot be changed.",
          rules: [immutable("Service")],
        }),
        plan: string({
          maxLength: 64,
          description: "The plan of the offering; the page of the service lists them.",
        }),
      },
      {
        acceptsIncomplete,
        parameters: object(
          {},
          Object.fromEntries([...parameters, ...refusedParameters].map(({ name, schema }) => [name, schema])),
          { description: service.parametersAbout },
        ),
        ...fields,
      },
      {
        description: `The ${service.title} instance that is wanted.`,
        rules: [...offered(service.type, service), ...service.rules, ...refused],
      },
    ),
  });
}

/** Of bindings to any service. */
export const serviceBindingXrd: CompositeResourceDefinition = xrd({
  kind: "ServiceBinding",
  composition: "a9s-servicebinding",
  spec: object(
    {
      instanceRef: string({
        maxLength: 253,
        description: "Name of the instance's claim in the same namespace. It cannot be changed.",
        rules: [immutable("InstanceRef")],
      }),
      serviceInstanceType: oneOf(instanceTypes, {
        description: "Which data service the instance is. It cannot be changed.",
        rules: [immutable("ServiceInstanceType")],
      }),
    },
    { acceptsIncomplete },
    { description: "Which instance gets credentials. They come to the Secret <name>-creds." },
  ),
});

/** All of them. */
export const xrds: readonly CompositeResourceDefinition[] = [...services.map(instanceXrd), serviceBindingXrd];
