/** Permission claims: which other resources of the app cluster a provider may read or write. See docs/reference/binding.md. */
import { boolean, list, map, object, oneOf, type Schema, string } from "@klutch/schema";
import { groupField, resourceField } from "./common.ts";

/** Owner of the claimed objects. */
export type ClaimOwner = "Provider" | "Consumer";

/** A list of patterns of label or annotation keys. */
export type KeyPatterns = readonly { readonly pattern: string }[];

/** Selection of the objects that a claim covers. */
export interface ClaimSelector {
  readonly names?: readonly string[] | undefined;
  readonly namespaces?: readonly string[] | undefined;
  readonly labelSelectors?: readonly Readonly<Record<string, string>>[] | undefined;
  readonly fieldSelectors?: readonly string[] | undefined;
  readonly owner?: ClaimOwner | undefined;
}

/** A claim on one resource. */
export interface PermissionClaim {
  readonly group?: string | undefined;
  readonly resource: string;
  readonly version: string;
  readonly selector?: ClaimSelector | undefined;
  readonly required?: boolean | undefined;
  readonly read?:
    | {
        readonly labels?: KeyPatterns | undefined;
        readonly labelsOnProviderOwnedObjects?: KeyPatterns | undefined;
        readonly annotations?: KeyPatterns | undefined;
        readonly overrideAnnotations?: KeyPatterns | undefined;
      }
    | undefined;
  readonly create?: { readonly replaceExisting?: boolean | undefined } | undefined;
  readonly autoAdopt?: boolean | undefined;
  readonly autoDonate?: boolean | undefined;
  readonly onConflict?: { readonly recreateWhenConsumerSideDeleted?: boolean | undefined } | undefined;
  readonly update?:
    | {
        readonly fields?: readonly string[] | undefined;
        readonly preserving?: readonly string[] | undefined;
        readonly alwaysRecreate?: boolean | undefined;
        readonly labels?: KeyPatterns | undefined;
        readonly labelsOnConsumerOwnedObjects?: KeyPatterns | undefined;
        readonly annotations?: KeyPatterns | undefined;
        readonly annotationsOnConsumerOwnedObjects?: KeyPatterns | undefined;
      }
    | undefined;
}

/** A claim as the app cluster's side answered it. */
export interface AnsweredPermissionClaim extends PermissionClaim {
  readonly state: "Accepted" | "Rejected";
}

const patterns = (description: string): Schema<KeyPatterns> =>
  list(
    object({
      pattern: string({ description: "A key, in which * stands for any characters." }),
    }),
    { description },
  );

const required = {
  version: string({ minLength: 1, description: "Version of the resource." }),
  resource: resourceField,
} as const;

const optional = {
  group: groupField,
  selector: object(
    {},
    {
      names: list(string(), { default: ["*"], description: "Names in the app cluster; * is any." }),
      namespaces: list(string(), { default: ["*"], description: "Namespaces of the app cluster; * is any." }),
      labelSelectors: list(map(string()), {
        description: "An object must have all labels of one of these maps. Default: no restriction.",
      }),
      fieldSelectors: list(string(), {
        description:
          "An object must match one of these, such as type=Opaque,metadata.name!=x. Default: no restriction.",
      }),
      owner: oneOf(["Provider", "Consumer"], {
        description:
          "Which side owns the objects and may change them. Without it each object belongs to the side that made it.",
      }),
    },
    { default: {}, description: "The objects the claim covers." },
  ),
  required: boolean({ description: "Whether the API works only if this claim is accepted. Default false." }),
  read: object(
    {},
    {
      labels: patterns(
        "Which labels of the consumer's own objects go to the provider. Default: all but those of Klutch and kubectl.",
      ),
      labelsOnProviderOwnedObjects: patterns(
        "Which labels the consumer may set on copies of the provider's objects. Default: none.",
      ),
      annotations: patterns(
        "Which annotations of the consumer's own objects go to the provider. Default: all but those of Klutch and kubectl.",
      ),
      overrideAnnotations: patterns(
        "Which annotations the consumer may set on copies of the provider's objects; its values win. Default: none.",
      ),
    },
    { default: {}, description: "Which labels and annotations go from the app cluster to the provider." },
  ),
  create: object(
    {},
    {
      replaceExisting: boolean({
        description:
          "Whether an object of the same name on the other side is replaced by the copy. Default false: both are left alone.",
      }),
    },
    { description: "How copies are made." },
  ),
  autoAdopt: boolean({
    description:
      "Whether a new object of the consumer becomes the provider's once it is copied there. Default false.",
  }),
  autoDonate: boolean({
    description:
      "Whether a new object of the provider becomes the consumer's once it is copied there. Default false.",
  }),
  onConflict: object(
    {},
    {
      recreateWhenConsumerSideDeleted: boolean({
        default: true,
        description: "Whether a copy of a provider's object that the consumer deletes is made again.",
      }),
    },
    { default: {}, description: "Resolution when the two sides disagree." },
  ),
  update: object(
    {},
    {
      fields: list(string(), {
        description:
          "Paths of fields that the provider may change once an object is on both sides, such as spec.size. Default: all in copies of its own objects, none in objects of the consumer.",
      }),
      preserving: list(string(), {
        description: "Paths of fields that keep the consumer's value, such as spec.size. Default: none.",
      }),
      alwaysRecreate: boolean({
        description:
          "Whether a copy that differs is deleted and made again instead of changed. Default false.",
      }),
      labels: patterns(
        "Which labels of the provider's own objects come to the app cluster. Default: the usual ones that name an application.",
      ),
      labelsOnConsumerOwnedObjects: patterns(
        "Which labels the provider may set on copies of the consumer's objects. Default: none.",
      ),
      annotations: patterns(
        "Which annotations of the provider's own objects come to the app cluster. Default: the usual ones that name an application.",
      ),
      annotationsOnConsumerOwnedObjects: patterns(
        "Which annotations the provider may set on copies of the consumer's objects. Default: none.",
      ),
    },
    { description: "What changes in a copy, and which labels and annotations come to the app cluster." },
  ),
} as const;

const rules = [
  {
    rule: "!(has(self.autoDonate) && self.autoDonate && has(self.autoAdopt) && self.autoAdopt)",
    message: "donate and adopt are mutually exclusive",
  },
] as const;

export const permissionClaim: Schema<PermissionClaim> = object(required, optional, { rules });

export const answeredPermissionClaim: Schema<AnsweredPermissionClaim> = object(
  {
    ...required,
    state: oneOf(["Accepted", "Rejected"], { description: "The answer of the app cluster's side." }),
  },
  optional,
  { rules },
);
