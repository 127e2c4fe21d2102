/** Checks that a konnector works for an app cluster: its Deployment, and the lease that the leader renews. */
import { consumerNamespace, konnectorName } from "@klutch/api";
import { type Deployment, deployments, pods } from "@klutch/kube-core";
import { isForbidden } from "@klutch/kube";
import { konnectorLease, type LeaseState } from "../app-cluster/konnector-lease.ts";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { type Finding, note, ok, problem, type Section } from "./diagnosis.ts";

/** Looks at both. */
export async function checkKonnector({ signal, clock }: CliContext, consumer: Consumer): Promise<Section> {
  const { client } = consumer;
  const [deployment, lease, podNames] = await Promise.all([
    client.find<Deployment>(deployments, { namespace: consumerNamespace, name: konnectorName }, { signal }),
    konnectorLease(consumer, clock.now(), signal),
    konnectorPods(consumer, signal),
  ]);
  const alive = leaseFinding(lease);
  const outsider = alive.level === "ok" ? outsiderOf(lease, podNames) : undefined;
  return {
    title: "Konnector",
    findings: [deploymentFinding(deployment, alive.level === "ok", outsider), alive],
  };
}

/** Names of Pods in the konnector's namespace; undefined when they may not be listed. */
async function konnectorPods(
  { client }: Consumer,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const options = { namespace: consumerNamespace, metadataOnly: true, signal };
  try {
    const all = await Array.fromAsync(client.listAll(pods, options));
    return new Set(all.map(({ metadata }) => metadata.name ?? ""));
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** A konnector that holds the lease and is no Pod of this cluster, as the sandbox's processes or one on an operator's machine. */
function outsiderOf(
  lease: LeaseState | undefined,
  podNames: ReadonlySet<string> | undefined,
): string | undefined {
  const holder = lease?.holder ?? "";
  return holder === "" || podNames === undefined || podNames.has(holder) ? undefined : holder;
}

function deploymentFinding(
  deployment: Deployment | undefined,
  isLeading: boolean,
  outsider: string | undefined,
): Finding {
  const what = `Deployment ${consumerNamespace}/${konnectorName}`;
  if (deployment === undefined) {
    return isLeading
      ? note(`${what} does not exist; a konnector outside of this cluster holds the lease.`)
      : problem(`${what} does not exist.`, "Bind an API with kubectl bind; that installs the konnector.");
  }
  const wanted = deployment.spec?.replicas ?? 1;
  const available = deployment.status?.availableReplicas ?? 0;
  const text = `${what}: ${available} of ${wanted} replicas are available.`;
  if (available >= wanted && wanted > 0) return ok(text);
  const advice = `kubectl --namespace ${consumerNamespace} describe deployment ${konnectorName}`;
  if (available > 0) return note(text, advice);
  return outsider === undefined
    ? problem(text, advice)
    : note(`${text} ${outsider} does the work, which is no Pod of this cluster.`, advice);
}

function leaseFinding(lease: LeaseState | undefined): Finding {
  const what = `Lease ${consumerNamespace}/${consumerNamespace}`;
  const logs = `kubectl --namespace ${consumerNamespace} logs deployment/${konnectorName}`;
  if (lease === undefined) {
    return problem(`${what} does not exist: no konnector has ever led in this cluster.`, logs);
  }
  const { holder, ageSeconds, durationSeconds, isLive } = lease;
  if (isLive) return ok(`${what} is held by ${holder}, renewed ${Math.max(0, ageSeconds)} s ago.`);
  return problem(
    `${what} was last renewed ${ageSeconds} s ago (by ${holder === "" ? "no one" : holder}); the limit is ${durationSeconds} s: no konnector works.`,
    logs,
  );
}
