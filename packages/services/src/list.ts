/** The data services. */
import type { DataService } from "./data-service.ts";
import { shippedTables } from "./shipped-tables.ts";
import { dataServiceOf } from "./table/data-service-of.ts";

let known: readonly DataService[] | undefined;

/** Returns all of them, in the order in which they are printed. The first call reads their tables. */
export function services(): readonly DataService[] {
  return (known ??= shippedTables().map(dataServiceOf));
}

/** The service that the label `klutch.io/instance-type` means; undefined for one that is not in the list. */
export function serviceOfType(label: string): DataService | undefined {
  // People who compose managed resources themselves may write more into the label than the type.
  return services().find(({ type }) => label.includes(type));
}
