/** Defines the fields of a service's file as a closed list. Unknown fields are refused by name. */
import {
  anyObject,
  anyValue,
  boolean,
  type JsonSchema,
  list,
  map,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import { priceFields } from "../prices/price.ts";
import { objectBackend } from "./object-table.ts";
import type {
  Backend,
  Column,
  ConnectionSource,
  CredentialsTable,
  Example,
  Size,
  TableRule,
  Target,
} from "./service-table.ts";

/** `apiVersion` of a service's file. */
export const tableApiVersion = "services.klutch.anynines.com/v1alpha1";

/** A service's file. */
export interface TableFile {
  readonly apiVersion: typeof tableApiVersion;
  readonly kind: "DataService";
  readonly metadata: { readonly name: string };
  readonly spec: TableSpec;
}

interface TableSpec {
  readonly title: string;
  readonly about: string;
  readonly claim: {
    readonly kind: string;
    readonly fields?: Readonly<Record<string, FileField>> | undefined;
  };
  readonly backends: readonly Backend[];
  readonly credentials: CredentialsTable;
  readonly sizes?: readonly Size[] | undefined;
  readonly otherCompositions?: boolean | undefined;
  readonly backups?: boolean | undefined;
  readonly parametersAbout?: string | undefined;
  readonly parameters?: readonly FileParameter[] | undefined;
  readonly columns?: readonly Column[] | undefined;
  readonly examples?: readonly Example[] | undefined;
}

interface FileField {
  readonly about: string;
  readonly schema: JsonSchema;
  readonly backends?: readonly string[] | undefined;
}

interface FileParameter {
  readonly name: string;
  readonly about: string;
  readonly schema: JsonSchema;
  /** A text, or a `Target`: a structural schema knows no "or". */
  readonly to: Readonly<Record<string, unknown>>;
}

/** Text in one line: it becomes a message of the API server, a description or a row of a page. */
const line = (maxLength = 500): Schema<string> =>
  string({ minLength: 1, maxLength, pattern: "^[^\\x00-\\x1f\\x7f]*$" });
/** Words of a rule. Braces stand for the parameter only: in the messages of CEL rules they would be CEL. */
const ruleText = (maxLength: number): Schema<string> =>
  string({ minLength: 1, maxLength, pattern: "^([^\\x00-\\x1f\\x7f{}]|\\{parameter\\})*$" });
/** Pattern of a service's type, with at most 30 characters. */
export const serviceTypePattern: string = "^[a-z]([-a-z0-9]*[a-z0-9])?$";
const label = (maxLength: number): Schema<string> => string({ pattern: serviceTypePattern, maxLength });
const camelCase: Schema<string> = string({ pattern: "^[a-z][A-Za-z0-9]*$", maxLength: 63 });
/** Part of a name that stands in a CEL rule between quotes. */
const part = (maxLength: number): Schema<string> =>
  string({ pattern: "^[A-Za-z0-9][-._A-Za-z0-9]*$", maxLength });
const offered: Schema<string> = part(64);
const word: Schema<string> = part(30);
const duration: Schema<string> = string({
  pattern: "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$",
  minLength: 2,
  maxLength: 12,
});
const secretKey: Schema<string> = string({ pattern: "^[-._a-zA-Z0-9]+$", maxLength: 253 });

const rule: Schema<TableRule> = object(
  {},
  {
    neverSmaller: object({}),
    keeps: object({ word, title: ruleText(30) }),
    never: object({ from: word, to: word }),
    immutable: object({ field: camelCase }),
    planNeeds: object({ word, services: list(offered, { minItems: 1 }) }),
    serviceNeeds: object({ service: offered, word }),
    parametersNeed: object({ parameters: list(camelCase, { minItems: 1 }), word }),
    cel: object({ expression: string({ minLength: 1, maxLength: 2000 }) }),
    message: ruleText(500),
  },
);

const plan = object({ name: offered }, { about: line(), retired: boolean(), price: priceFields });

const backend: Schema<Backend> = object(
  {
    name: label(20),
    services: list(offered, { minItems: 1, maxItems: 50 }),
    plans: list(plan, { minItems: 1, maxItems: 200 }),
  },
  {
    default: boolean(),
    broker: object({}),
    object: objectBackend,
    takes: object({}, { create: duration, change: duration, delete: duration }),
    rules: list(rule, { maxItems: 50 }),
  },
);

const claim = object(
  { kind: string({ pattern: "^[A-Z][A-Za-z0-9]*$", maxLength: 50 }) },
  {
    fields: map(
      object({ about: line(), schema: anyObject() }, { backends: list(label(20), { minItems: 1 }) }),
    ),
  },
);

/** Address field in the credentials. */
export const connectionSource: Schema<ConnectionSource> = object(
  { label: line(60), from: secretKey, form: oneOf(["host", "url", "address"]) },
  { port: secretKey },
);

const credentials: Schema<CredentialsTable> = object(
  { keys: list(secretKey, { minItems: 1 }) },
  {
    connection: list(connectionSource, { maxItems: 20 }),
  },
);

const column: Schema<Column> = object(
  {
    name: string({ pattern: "^[A-Za-z][-A-Za-z0-9]*$", maxLength: 40 }),
    path: string({ pattern: "^\\..+$", maxLength: 200 }),
    type: oneOf(["string", "integer", "number", "boolean", "date"]),
  },
  { wide: boolean() },
);

const example: Schema<Example> = object({
  file: label(60),
  about: line(),
  name: label(60),
  spec: anyObject(),
});

/** Full name of a parameter at a backend; a plain text is the key. */
export const target: Schema<Target> = object(
  { key: string({ pattern: "^[^\\x00-\\x1f\\x7f]+$", maxLength: 253 }) },
  { as: oneOf(["lower"]) },
);

/** The file, but for the schemas of parameters and fields, and for what parameters are called at backends. */
export const tableFile: Schema<TableFile> = object({
  apiVersion: oneOf([tableApiVersion]),
  kind: oneOf(["DataService"]),
  metadata: object({ name: label(30) }),
  spec: object(
    {
      title: line(60),
      about: line(),
      claim,
      backends: list(backend, { minItems: 1, maxItems: 5 }),
      credentials,
    },
    {
      sizes: list(object({ word })),
      otherCompositions: boolean(),
      backups: boolean(),
      parametersAbout: line(),
      parameters: list(object({ name: camelCase, about: line(), schema: anyObject(), to: map(anyValue()) }), {
        maxItems: 200,
      }),
      columns: list(column),
      examples: list(example),
    },
  ),
});
