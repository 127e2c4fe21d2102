/** Every metric of our own, by what they belong to, and there by name. A metric that is not here cannot be made by the name of one that is. */
import type { MetricDeclaration, ProcessName } from "../declaration.ts";
import * as clients from "./clients.ts";
import * as controlPlane from "./control-plane.ts";
import * as controllers from "./controllers.ts";
import * as servers from "./servers.ts";
import * as sync from "./sync.ts";

/** All declarations. */
export const catalogue: readonly MetricDeclaration[] = [
  ...declarationsOf(controllers),
  ...declarationsOf(clients),
  ...declarationsOf(sync),
  ...declarationsOf(controlPlane),
  ...declarationsOf(servers),
];

/** Those that a process has. */
export function metricsOf(process: ProcessName): readonly MetricDeclaration[] {
  return catalogue.filter(({ processes }) => processes.includes(process));
}

function declarationsOf(group: Readonly<Record<string, MetricDeclaration>>): readonly MetricDeclaration[] {
  return Object.values(group).toSorted((left, right) => (left.name < right.name ? -1 : 1));
}
