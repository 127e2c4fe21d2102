/** Removes what bindings leave in an app cluster: the konnector, its account and roles, the admission policy and the namespace. */
import { consumerNamespace, konnectorName, konnectorPolicyName } from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  type DynamicObject,
  namespaces,
  recordsAt,
  textAt,
} from "@klutch/kube-core";
import { liftApiLimits } from "../app-cluster/api-limits.ts";
import { liftClaimMarks } from "../app-cluster/claim-marks.ts";
import { liftConfinement } from "../app-cluster/confinement.ts";
import { findLeftRoles } from "../app-cluster/left-roles.ts";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { waitFor } from "../wait.ts";

/** Removes all of it. The next run completes one that was interrupted. */
export async function removeKonnector(
  context: CliContext,
  consumer: Consumer,
  timeoutMs: number,
): Promise<void> {
  const { signal, terminal } = context;
  const { client } = consumer;
  const ref = { namespace: consumerNamespace, name: konnectorName };
  if (await client.delete(deployments, ref, { signal }))
    terminal.say(`Deleted Deployment ${consumerNamespace}/${konnectorName}.`);
  await removeNamespace(context, consumer, timeoutMs);
  const left = await findLeftRoles(consumer, signal);
  for (const name of left.clusterRoleBindings) await client.delete(clusterRoleBindings, { name }, { signal });
  for (const name of left.clusterRoles) await client.delete(clusterRoles, { name }, { signal });
  const names = [...new Set([...left.clusterRoles, ...left.clusterRoleBindings])];
  if (names.length > 0) terminal.say(`Deleted ClusterRoles and ClusterRoleBindings ${names.join(", ")}.`);
  await liftClaimMarks(context, consumer);
  await liftApiLimits(context, consumer);
  if (await liftConfinement(consumer, signal))
    terminal.say(`Deleted ValidatingAdmissionPolicy ${konnectorPolicyName}.`);
}

async function removeNamespace(context: CliContext, consumer: Consumer, timeoutMs: number): Promise<void> {
  const { signal, terminal } = context;
  const ref = { name: consumerNamespace };
  const found = await consumer.client.find(namespaces, ref, { signal });
  if (found === undefined) return;
  const { uid } = found.metadata;
  if (found.metadata.deletionTimestamp === undefined)
    await consumer.client.delete(namespaces, ref, { preconditions: { uid }, signal });
  let holds = "";
  const problem = (): string =>
    `${holds === "" ? "The cluster has not said what holds it" : holds}. The deletion goes on in the cluster. kubectl get namespace ${consumerNamespace} -o yaml shows its state. Run the command again to see its end and to remove the konnector's roles.`;
  const what = `namespace ${consumerNamespace} to be gone`;
  await waitFor(context, { what, timeoutMs, problem, intervalMs: 500 }, async () => {
    const now = await consumer.client.find<DynamicObject>(namespaces, ref, { signal });
    if (now === undefined || now.metadata.uid !== uid) return true;
    holds = reasonsOf(now);
    return undefined;
  });
  terminal.say(`Deleted namespace ${consumerNamespace}.`);
}

/** Messages of the conditions in which the cluster says what it waits for. */
function reasonsOf(namespace: DynamicObject): string {
  return recordsAt(namespace, "status", "conditions")
    .filter((condition) => condition["status"] === "True")
    .map((condition) => textAt(condition, "message") ?? "")
    .filter((message) => message !== "")
    .join(" ");
}
