/** An operator that runs PostgreSQL servers from the kinds of a8s. */
export { addOperator, installKinds } from "./operator.ts";
