/** Builders, printers, a validator and a differ for structural schemas. */
export { contractLines } from "./contract-lines.ts";
export {
  type CrdOptions,
  type CustomResourceDefinition,
  customResourceDefinition,
  type PrinterColumn,
} from "./crd.ts";
export { breakingChanges, type SchemaChange } from "./diff.ts";
export { Effort, EffortError } from "./effort.ts";
export { isPattern } from "./pattern.ts";
export { prunedFields } from "./prune.ts";
export { SchemaReader } from "./reader.ts";
export {
  anyObject,
  anyValue,
  boolean,
  type CommonOptions,
  described,
  embedded,
  type Infer,
  integer,
  integerOrString,
  type JsonSchema,
  list,
  type ListOptions,
  map,
  nullable,
  number,
  object,
  type ObjectOf,
  type ObjectOptions,
  oneOf,
  type Rule,
  type Schema,
  string,
} from "./schema.ts";
export { unknownFields } from "./unknown-fields.ts";
export { accepts, describeProblem, type Problem, problemsOf, valueText } from "./validate.ts";
