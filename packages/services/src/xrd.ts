/** Builds the definitions of the shipped Configuration. */
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
import { compositionName, type Generation } from "./generation.ts";
import { telling } from "./rule-text.ts";

/** A CompositeResourceDefinition (apiextensions.crossplane.io) as JSON: of version v1 for legacy claims, else v2. */
export interface CompositeResourceDefinition {
  readonly apiVersion: "apiextensions.crossplane.io/v1" | "apiextensions.crossplane.io/v2";
  readonly kind: "CompositeResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Options that differ between the definitions. */
interface XrdOptions {
  readonly kind: string;
  /** Description for users who choose a kind: on the binding page and in `kubectl explain`. */
  readonly about: string;
  /** Default Composition, by its legacy name. */
  readonly composition: string;
  readonly compositeDeletePolicy?: "Foreground" | undefined;
  readonly columns?: readonly PrinterColumn[] | undefined;
  readonly spec: Field;
}

/** The definition of a kind of claim, and of its composite where that is another; the same options give the same definition. */
export function xrd(generation: Generation, options: XrdOptions): CompositeResourceDefinition {
  const { kind, plural, group } = claimResource(options.kind, generation);
  const isLegacy = generation.name === "legacy";
  const names = isLegacy ? { kind: `X${kind}`, plural: `x${plural}` } : { kind, plural };
  return {
    apiVersion: `apiextensions.crossplane.io/${isLegacy ? "v1" : "v2"}`,
    kind: "CompositeResourceDefinition",
    metadata: { name: `${names.plural}.${group}` },
    spec: {
      group,
      ...(isLegacy ? {} : { scope: "Namespaced" }),
      names,
      ...(isLegacy ? { claimNames: { kind, plural } } : {}),
      defaultCompositionRef: { name: compositionName(generation, options.composition) },
      // A namespaced composite is deleted in the manner that its deleter requests.
      ...(options.compositeDeletePolicy === undefined || !isLegacy
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

/** Returns the rule that a text field keeps its first value. */
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
