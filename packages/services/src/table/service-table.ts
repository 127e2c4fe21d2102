/** A service as its table says it: trusted, with everything filled in that the file may leave out. */
import type { JsonSchema } from "@klutch/schema";
import type { Price } from "../prices/price.ts";
import type { ObjectBackend } from "./object-table.ts";

/** A size of plans. */
export interface Size {
  /** Word in names of plans, behind a hyphen. */
  readonly word: string;
}

/** A plan of a backend. */
export interface Plan {
  readonly name: string;
  readonly about?: string | undefined;
  /** Instances that have it stay on it; it cannot be chosen. Default false. */
  readonly retired?: boolean | undefined;
  /** Default: none. An operator's price list goes before it. */
  readonly price?: Price | undefined;
}

/** Rule between service, plan and parameters, or between a claim and its previous state. Exactly one of the kinds, optionally with a message. */
export interface TableRule {
  /** A plan may grow and may not shrink, in the order of the sizes. */
  readonly neverSmaller?: object | undefined;
  /** A plan keeps a word of its name, or keeps being without it. */
  readonly keeps?: { readonly word: string; readonly title: string } | undefined;
  /** A plan with the one word does not become one with the other. */
  readonly never?: { readonly from: string; readonly to: string } | undefined;
  readonly immutable?: { readonly field: string } | undefined;
  /** Plans with the word are for these services only. */
  readonly planNeeds?: { readonly word: string; readonly services: readonly string[] } | undefined;
  /** The service has only plans with the word. */
  readonly serviceNeeds?: { readonly service: string; readonly word: string } | undefined;
  /** The parameters are for plans with the word only. */
  readonly parametersNeed?: { readonly parameters: readonly string[]; readonly word: string } | undefined;
  /** A rule of the claim's spec in CEL. */
  readonly cel?: { readonly expression: string } | undefined;
  /** Message with which a claim is refused. Required for `cel`; the others have a default. */
  readonly message?: string | undefined;
}

/** Usual duration of a backend's operations, such as `15m`; for messages only. */
export interface Takes {
  readonly create?: string | undefined;
  readonly change?: string | undefined;
  readonly delete?: string | undefined;
}

/** A way to make instances; it has a Composition of its own. Exactly one of `broker` and `object` is there. */
export interface Backend {
  readonly name: string;
  /** Taken by claims that name no Composition. Exactly one of a table's is. */
  readonly default?: boolean | undefined;
  /** Instances are made at the broker of the ProviderConfig `<type>-service-broker`. */
  readonly broker?: object | undefined;
  /** Instances are objects in the cluster. */
  readonly object?: ObjectBackend | undefined;
  /** Allowed values of `spec.service`. */
  readonly services: readonly string[];
  readonly plans: readonly Plan[];
  readonly takes?: Takes | undefined;
  readonly rules?: readonly TableRule[] | undefined;
}

/** Name of a parameter at a backend. */
export interface Target {
  readonly key: string;
  /** Conversion of the value. Default: none. */
  readonly as?: "lower" | undefined;
}

/** A parameter of instances. */
export interface Parameter {
  /** Camel case, as in the claim. */
  readonly name: string;
  readonly about: string;
  readonly schema: JsonSchema;
  /** Targets by backend. A claim that sets the parameter is refused with a message if its backend is missing here. */
  readonly to: Readonly<Record<string, Target>>;
}

/** A further field of a claim's spec. */
export interface ClaimField {
  readonly name: string;
  /** Names of those that have it; a claim of another one that sets it is refused with words. Undefined: all. */
  readonly backends?: readonly string[] | undefined;
  readonly schema: JsonSchema;
}

/** Address field of a service in the credentials of a binding. */
export interface ConnectionSource {
  readonly label: string;
  /** Key of the Secret. */
  readonly from: string;
  /** `host` is a name, `url` a URL, `address` what stands before and behind the last colon; each may be a list in brackets. */
  readonly form: "host" | "url" | "address";
  /** Key of the Secret that has the port; only with `host`. */
  readonly port?: string | undefined;
}

/** Credentials of a binding. */
export interface CredentialsTable {
  /** Keys of the Secret. A broker may send more. */
  readonly keys: readonly string[];
  readonly connection?: readonly ConnectionSource[] | undefined;
}

/** A further column of `kubectl get`. */
export interface Column {
  readonly name: string;
  /** JSONPath with a leading dot. */
  readonly path: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  /** True to show the column only with `-o wide`. Default false. */
  readonly wide?: boolean | undefined;
}

/** A claim to start from. */
export interface Example {
  /** Name of its file, without the ending. */
  readonly file: string;
  /** Description in one sentence. */
  readonly about: string;
  /** `metadata.name`. */
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** All particulars of one service. */
export interface ServiceTable {
  /** `serviceInstanceType` of its bindings. Compositions and ProviderConfigs are named after it. */
  readonly type: string;
  /** Product name. */
  readonly title: string;
  /** Description in a few sentences. */
  readonly about: string;
  /** Kind of the claim. */
  readonly kind: string;
  readonly fields: readonly ClaimField[];
  /** The smallest first. */
  readonly sizes: readonly Size[];
  /** Ways to make it, in the order of the table. */
  readonly backends: readonly Backend[];
  /** A claim may name a Composition that is not of this table; its rules are then the Composition's own affair. */
  readonly otherCompositions: boolean;
  /** False: there are no backups of its instances. */
  readonly backups: boolean;
  readonly parametersAbout: string;
  readonly parameters: readonly Parameter[];
  readonly credentials: CredentialsTable;
  readonly columns: readonly Column[];
  readonly examples: readonly Example[];
}
