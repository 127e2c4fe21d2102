/** Permission claims: which other resources of the app cluster a provider may read or write. See docs/reference/binding.md. */
import { boolean, list, map, object, oneOf, type Schema, string } from "@klutch/schema";
import { groupField, resourceField } from "./common.ts";

/** Who owns the claimed objects. */
export type ClaimOwner = "Provider" | "Consumer";

/** A list of patterns of label or annotation keys. */
export type KeyPatterns = readonly { readonly pattern: string }[];

/** Which objects a claim covers. */
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
  list(object({ pattern: string() }), { description });

const required = {
  version: string({ minLength: 1, description: "Version of the resource." }),
  resource: resourceField,
} as const;

const optional = {
  group: groupField,
  selector: object(
    {},
    {
      names: list(string(), { default: ["*"], description: "Exact names, or * for all." }),
      namespaces: list(string(), { default: ["*"], description: "Exact namespaces, or * for all." }),
      labelSelectors: list(map(string()), { description: "An object must match one of these label sets." }),
      fieldSelectors: list(string(), { description: "Field selectors the object must match." }),
      owner: oneOf(["Provider", "Consumer"], { description: "Which side owns the objects." }),
    },
    { default: {}, description: "The objects the claim covers." },
  ),
  required: boolean({ description: "Without this claim the API does not work." }),
  read: object(
    {},
    {
      labels: patterns("Label keys that the provider may read."),
      labelsOnProviderOwnedObjects: patterns("Label keys that the provider may read on objects it owns."),
      annotations: patterns("Annotation keys that the provider may read."),
      overrideAnnotations: patterns("Annotation keys whose values on the consumer side win."),
    },
    { default: {}, description: "What the provider may read." },
  ),
  create: object(
    {},
    { replaceExisting: boolean({ description: "Existing objects are replaced." }) },
    { description: "How objects are created." },
  ),
  autoAdopt: boolean({ description: "The provider takes over ownership of consumer objects." }),
  autoDonate: boolean({ description: "Created objects are given to the consumer." }),
  onConflict: object(
    {},
    {
      recreateWhenConsumerSideDeleted: boolean({
        default: true,
        description: "An object that is deleted on the consumer side is made again.",
      }),
    },
    { default: {}, description: "What happens when the sides disagree." },
  ),
  update: object(
    {},
    {
      fields: list(string(), { description: "Fields that the provider may change; all when empty." }),
      preserving: list(string(), { description: "Fields that keep the consumer's value." }),
      alwaysRecreate: boolean({ description: "Objects are deleted and made again instead of changed." }),
      labels: patterns("Label keys that the provider may change."),
      labelsOnConsumerOwnedObjects: patterns("Label keys that the provider may change on consumer objects."),
      annotations: patterns("Annotation keys that the provider may change."),
      annotationsOnConsumerOwnedObjects: patterns(
        "Annotation keys that the provider may change on consumer objects.",
      ),
    },
    { description: "What the provider may change." },
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
