/** Picks problems from conditions, puts them into words, and names the next step. */
import { type KonnectorUpdates, plainText } from "@klutch/api";
import { isProblem, type NewCondition } from "@klutch/kube-core";

/** Returns the conditions that report a problem, but the one that a backend in Go says of each ClusterBinding that is well. */
export function problemsOf(conditions: readonly NewCondition[]): readonly NewCondition[] {
  return conditions.filter((one) => isProblem(one) && one.reason !== "HeartbeatTimeDrift");
}

/** Condition of a Tenant that only warns: its app cluster is well all the same. */
export const budgetCondition = "WithinBudget";

/** Returns the problems of an app cluster, of its ClusterBinding and its Tenant. A budget is none. */
export function clusterProblems(
  ofBinding: readonly NewCondition[],
  ofTenant: readonly NewCondition[],
): readonly NewCondition[] {
  return [...problemsOf(ofBinding), ...problemsOf(ofTenant).filter(({ type }) => type !== budgetCondition)];
}

/** Returns one line about a problem. */
export function problemText({ type, reason = "", message = "" }: NewCondition): string {
  const words = [type, reason].filter((part) => part !== "").join(" ");
  return plainText(message === "" ? words : `${words}: ${message}`, 400);
}

/** Returns one line, in the form of `problemText`, about an update of the konnector that the app cluster refuses; empty if nothing stands against it. */
export function updateFault(updates: KonnectorUpdates | undefined): string {
  return updates?.problem === undefined
    ? ""
    : `KonnectorUpdate Refused: the wanted konnector version is not run: ${updates.problem}`;
}

/** Returns the next step for an app cluster. `problem`: as `problemText` has it. */
export function clusterAdvice({
  problem,
  tenant,
}: {
  readonly problem: string;
  readonly tenant: string;
}): string {
  if (problem.startsWith("KonnectorUpdate ")) return "klutch clusters -o wide";
  if (problem.startsWith("Authorized ")) return `klutch members ${tenant}`;
  if (/^(?:WithinLimits|LimitsEnforced) /.test(problem)) return `kubectl describe tenant tenant -n ${tenant}`;
  if (/ AccountMissing\b/.test(problem))
    return `if that was not intended: kubectl bind in the app cluster; klutch audit ${tenant}`;
  return "in the app cluster: klutch doctor";
}

/** Returns the next step for a template, which is named `<namespace>/<name>`. */
export function offerAdvice(template: string): string {
  const [namespace = "", name = ""] = template.split("/");
  return `kubectl describe apiserviceexporttemplates ${name} -n ${namespace}`;
}
