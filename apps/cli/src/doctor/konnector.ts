/** Checks that a konnector works for an app cluster: its namespace, its Deployment, and the lease that the leader renews. */
import { type APIServiceBinding, consumerNamespace, konnectorName, printable } from "@klutch/api";
import { pods } from "@klutch/kube-core";
import { hasLiveKonnector, type Home, namesOf, needsKonnector } from "../app-cluster/home.ts";
import { type LeaseState, otherKonnectorLeases } from "../app-cluster/konnector-lease.ts";
import { type Consumer, ifAllowed } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { counted } from "../findings.ts";
import { type Finding, note, ok, problem, type Section } from "./diagnosis.ts";

const handBack =
  "klutch hand-back lets the bindings go without one: claims and databases stay. Then klutch unbind --all removes the rest.";

/** Looks at both, and at the namespace that holds them. */
export async function checkKonnector(
  { signal, clock }: CliContext,
  consumer: Consumer,
  home: Home,
  bindings: readonly APIServiceBinding[],
): Promise<Section> {
  const podNames = await konnectorPods(consumer, signal);
  const alive = leaseFinding(home.lease, home.deployment !== undefined);
  const outsider = hasLiveKonnector(home) ? outsiderOf(home.lease, podNames) : undefined;
  const waiting = bindings.filter(needsKonnector);
  const others = await otherKonnectorLeases(consumer, clock.now(), signal);
  return {
    title: "Konnector",
    findings: [
      ...namespaceFindings(home, waiting),
      deploymentFinding(home, outsider, waiting),
      alive,
      ...[...others].map(otherFinding),
    ],
  };
}

/** A namespace that is being deleted takes the konnector with it, and waits for bindings that only a konnector lets go. */
function namespaceFindings(home: Home, waiting: readonly APIServiceBinding[]): readonly Finding[] {
  if (home.namespace !== "terminating") return [];
  const text = `Namespace ${consumerNamespace} is being deleted since ${home.terminatingSince}`;
  if (waiting.length === 0)
    return [
      problem(
        `${text}.`,
        `When it is gone: klutch unbind --all removes the rest of Klutch. The objects that hold it: kubectl get namespace ${consumerNamespace} -o yaml`,
      ),
    ];
  return [
    problem(
      `${text} and waits for ${counted(waiting.length, "APIServiceBinding")}: ${namesOf(waiting)}.`,
      hasLiveKonnector(home)
        ? "The konnector still works and unbinds them: klutch unbind --all waits for it."
        : `No konnector works, and none can be installed there. ${handBack}`,
    ),
  ];
}

/** Names of Pods in the konnector's namespace; undefined when they may not be listed. */
async function konnectorPods(
  { client }: Consumer,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const options = { namespace: consumerNamespace, metadataOnly: true, signal };
  const all = await ifAllowed(() => Array.fromAsync(client.listAll(pods, options)));
  return all === undefined ? undefined : new Set(all.map(({ metadata }) => metadata.name ?? ""));
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
  home: Home,
  outsider: string | undefined,
  waiting: readonly APIServiceBinding[],
): Finding {
  const what = `Deployment ${consumerNamespace}/${konnectorName}`;
  const { deployment } = home;
  if (deployment === undefined) {
    return hasLiveKonnector(home)
      ? note(`${what} does not exist; a konnector outside of this cluster holds the lease.`)
      : missingDeployment(what, home, waiting);
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

function missingDeployment(what: string, home: Home, waiting: readonly APIServiceBinding[]): Finding {
  if (home.namespace === "terminating") return problem(`${what} does not exist any more.`);
  if (waiting.length > 0)
    return problem(
      `${what} does not exist, and ${namesOf(waiting)} ${waiting.length === 1 ? "needs" : "need"} it.`,
      `To go on with Klutch: kubectl bind <URL of the provider> installs the konnector again.\nTo remove Klutch: ${handBack}`,
    );
  return problem(
    `${what} does not exist.`,
    home.namespace === "active"
      ? "Bind an API with kubectl bind; that installs the konnector. Or remove the rest of Klutch: klutch unbind --all"
      : "Bind an API with kubectl bind; that installs the konnector.",
  );
}

/** Two konnectors with two leases do not know of each other. */
function otherFinding([lease, { holder }]: readonly [string, LeaseState]): Finding {
  return problem(
    `Lease ${printable(lease)} is held by ${printable(holder)}, too: a second konnector may work in this cluster, and both would write the same objects.`,
    `Stop one of the two, or let both use the same --lease-name and --lease-namespace. An event TwoKonnectors on an APIServiceBinding says that two work: kubectl --namespace ${consumerNamespace} get events`,
  );
}

function leaseFinding(lease: LeaseState | undefined, hasDeployment: boolean): Finding {
  const what = `Lease ${consumerNamespace}/${consumerNamespace}`;
  const logs = `kubectl --namespace ${consumerNamespace} logs deployment/${konnectorName}`;
  if (lease === undefined) {
    return problem(`${what} does not exist: no konnector works.`, hasDeployment ? logs : undefined);
  }
  const { holder, ageSeconds, durationSeconds, isLive } = lease;
  if (isLive) return ok(`${what} is held by ${holder}, renewed ${Math.max(0, ageSeconds)} s ago.`);
  return problem(
    `${what} was last renewed ${ageSeconds} s ago (by ${holder === "" ? "no one" : holder}); the limit is ${durationSeconds} s: no konnector works.`,
    hasDeployment ? logs : undefined,
  );
}
