/** A second way to make things: objects of an operator in the cluster, made by provider-kubernetes under the claim's name and namespace. */
import { anyObject, anyValue, list, map, object, oneOf, type Schema, string } from "@klutch/schema";

/** Copies a field of the claim to a field of the object. Words are the parts of a text between hyphens. */
export interface Patch {
  /** `spec.<field>` of the claim, `parameters` for all that have a name at the backend, `claim.name` or `claim.namespace`. */
  readonly from: string;
  /** Path below the object's `spec`. */
  readonly to: string;
  /** Prefix to remove from the text. */
  readonly trimPrefix?: string | undefined;
  /** The value for the last of the text's words. */
  readonly lastWord?: Readonly<Record<string, unknown>> | undefined;
  /** The value for the first of these words that the text has. */
  readonly hasWord?: Readonly<Record<string, unknown>> | undefined;
  /** The text as a number. */
  readonly as?: "integer" | undefined;
  /** Value if the claim sets none. Default: the field is left out. */
  readonly default?: unknown;
}

/** Copies a field of the object's status to the claim's `status.managed`. */
export interface Reported {
  readonly from: string;
  readonly to: string;
}

/** A manifest for a claim. */
export interface ManifestRecipe {
  /** Manifest without name and namespace, which are the claim's. */
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly patches?: readonly Patch[] | undefined;
  readonly status?: readonly Reported[] | undefined;
}

/** An object for a claim. */
export interface ObjectRecipe extends ManifestRecipe {
  /** A CEL query of the word `object`; provider-kubernetes asks it. */
  readonly ready: string;
}

/** The objects for the claims of a service. A shared kind without one is not served. */
export interface ObjectBackend extends ObjectRecipe {
  /** Name of the ProviderConfig of provider-kubernetes. Default `kubernetes-provider`. */
  readonly providerConfig?: string | undefined;
  readonly binding?: ObjectRecipe | undefined;
  readonly backup?: ObjectRecipe | undefined;
  readonly restore?: ObjectRecipe | undefined;
}

const name = "[A-Za-z][-A-Za-z0-9_]{0,62}";
const statusPath: Schema<string> = string({ pattern: `^status(\\.${name}){1,10}$`, maxLength: 250 });
const fixedText = (maxLength: number): Schema<string> =>
  string({ minLength: 1, maxLength, pattern: "^[^\\x00-\\x1f\\x7f]*$" });

/** One patch. */
export const patch: Schema<Patch> = object(
  {
    from: string({ pattern: `^(spec\\.${name}|parameters|claim\\.(name|namespace))$` }),
    to: string({ pattern: `^spec(\\.${name}){1,10}$`, maxLength: 250 }),
  },
  {
    trimPrefix: fixedText(63),
    lastWord: map(anyValue()),
    hasWord: map(anyValue()),
    as: oneOf(["integer"]),
    default: anyValue(),
  },
);

/** One value that the claim shows. */
export const reported: Schema<Reported> = object({
  from: statusPath,
  to: string({ pattern: `^${name}(\\.${name}){0,5}$`, maxLength: 250 }),
});

const required = {
  manifest: anyObject(),
  ready: string({ minLength: 1, maxLength: 2000 }),
} as const;
const optional = {
  patches: list(patch, { maxItems: 100 }),
  status: list(reported, { maxItems: 30 }),
} as const;
/** One object. */
export const objectRecipe: Schema<ObjectRecipe> = object(required, optional);

/** Name of a ProviderConfig. */
export const configName: Schema<string> = string({
  pattern: "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
  maxLength: 253,
});

/** All objects of a service. */
export const objectBackend: Schema<ObjectBackend> = object(required, {
  ...optional,
  providerConfig: configName,
  binding: objectRecipe,
  backup: objectRecipe,
  restore: objectRecipe,
});
