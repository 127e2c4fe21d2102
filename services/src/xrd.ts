/** How a definition of the shipped Configuration is made. */
import { claimGroup } from "@klutch/api";
import {
  anyObject,
  boolean,
  integer,
  object,
  type PrinterColumn,
  type Rule,
  type Schema,
} from "@klutch/schema";
import { claimResource, type Field } from "./data-service.ts";
import { telling } from "./rule-text.ts";

/** A CompositeResourceDefinition (apiextensions.crossplane.io/v1) as JSON. */
export interface CompositeResourceDefinition {
  readonly apiVersion: "apiextensions.crossplane.io/v1";
  readonly kind: "CompositeResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What differs between the definitions. */
interface XrdOptions {
  readonly kind: string;
  /** For who chooses a kind: on the binding page and in `kubectl explain`. */
  readonly about: string;
  readonly composition: string;
  readonly compositeDeletePolicy?: "Foreground" | undefined;
  readonly columns?: readonly PrinterColumn[] | undefined;
  readonly spec: Field;
}

/** The definition of a kind of claim and its composite; the same options give the same definition. */
export function xrd(options: XrdOptions): CompositeResourceDefinition {
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
              description: options.about,
              properties: {
                spec: options.spec.json,
                status: object(
                  {},
                  {
                    managed: anyObject({ description: "What the managed resource reports." }),
                    observedGeneration: integer({
                      description:
                        "The generation of the claim that the conditions are about. Written by the konnector.",
                    }),
                  },
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

/** What a field of text was at first it stays. */
export function immutable(field: string): Rule {
  return telling(
    { rule: "self == oldSelf", message: `${field} is an immutable field` },
    'it is "{oldSelf}" and cannot become "{self}"',
  );
}

/** A field of instances and bindings. */
export const acceptsIncomplete: Schema<boolean> = boolean({
  description: "Whether the broker may answer before it is done. Default true.",
});
