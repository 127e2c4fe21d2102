/** Every data service, and what is derived from the list of them. No I/O. */
export * from "../postgresql/parameters.ts";
export * from "../postgresql/plans.ts";
export { compositions } from "./compositions.ts";
export { type FunctionInput, functionInput } from "./function-input.ts";
export {
  type CompositeResourceDefinition,
  instanceTypes,
  postgresqlInstanceXrd,
  serviceBindingXrd,
  xrds,
} from "./xrds.ts";
