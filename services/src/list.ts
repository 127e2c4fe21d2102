/** The data services. */
import { mariadb } from "../mariadb/service.ts";
import { postgresql } from "../postgresql/service.ts";
import type { DataService } from "./data-service.ts";

/** All of them, in the order in which they are printed. */
export const services: readonly DataService[] = [postgresql, mariadb];

/** The service that the label `klutch.io/instance-type` means; undefined for one that is not in the list. */
export function serviceOfType(label: string): DataService | undefined {
  // People who compose managed resources themselves may write more into the label than the type.
  return services.find(({ type }) => label.includes(type));
}
