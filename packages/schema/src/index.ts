/** Builders and printers for structural schemas. */
export {
  type CrdOptions,
  type CustomResourceDefinition,
  customResourceDefinition,
  type PrinterColumn,
} from "./crd.ts";
export {
  anyObject,
  anyValue,
  boolean,
  type CommonOptions,
  type Infer,
  integer,
  integerOrString,
  type JsonSchema,
  list,
  type ListOptions,
  map,
  number,
  object,
  type ObjectOf,
  type ObjectOptions,
  oneOf,
  type Rule,
  type Schema,
  string,
} from "./schema.ts";
