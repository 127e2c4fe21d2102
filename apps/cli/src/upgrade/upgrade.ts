/** `klutch upgrade`: what runs, what an upgrade to this release changes, and what stands against it. Without `--check` an app cluster is upgraded. */
import { klutchVersion } from "@klutch/api";
import type { ResourceType } from "@klutch/kube-core";
import { createKubeClient, loadKubeconfig } from "@klutch/kube";
import { consumerOf } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { CheckFailedError, counted } from "../findings.ts";
import type { CommonOptions } from "../options.ts";
import { type AppClusterUpgrade, upgradeAppCluster } from "./app-cluster.ts";
import { lookAtBindings, readBindings } from "./bindings.ts";
import { lookAtCrds, readCrds, roleOf } from "./crds.ts";
import { lookForDeletions } from "./deleting.ts";
import { lookAtOffers } from "./offers.ts";
import { lookAtPackages } from "./packages.ts";
import { textOf } from "./print.ts";
import { lookAtKubernetes, lookAtPrograms, readPrograms } from "./programs.ts";
import { type ClusterReader, createReader } from "./reader.ts";
import { findings, type Findings, type Report, reportOf, together } from "./report.ts";
import { lookForRotatedBindings } from "./rotated-bindings.ts";
import { lookForGoKonnector, readBoundApis } from "./take-over-app-cluster.ts";
import { lookForGoBackend } from "./take-over-control-plane.ts";
import { lookAtTenants } from "./tenants.ts";
import { lookAtWhoMayBind } from "./who-may-bind.ts";

/** Flags of `upgrade`. */
export interface UpgradeOptions
  extends AppClusterUpgrade,
    Pick<CommonOptions, "connection" | "requestTimeoutMs"> {
  /** Read only. The upgrade of a control plane is Helm's or kubectl's. */
  readonly check: boolean;
  /** Flag by which the user accepts that an installation in Go is taken over. */
  readonly acceptsTakeOver: boolean;
  readonly output: "json" | undefined;
}

/** Runs the command. Throws `CheckFailedError` when something blocks the upgrade. */
export async function upgrade(context: CliContext, options: UpgradeOptions): Promise<void> {
  const { terminal, signal, clock } = context;
  const config = await loadKubeconfig(options.connection);
  const { requestTimeoutMs } = options;
  await using client = createKubeClient(config, { userAgent: "klutch", requestTimeoutMs });
  const reader = createReader(client, signal);
  const stop = terminal.waiting("Reading the cluster");
  let report: Report;
  try {
    report = await look(reader, { now: clock.now(), release: klutchVersion, ...options });
  } finally {
    stop();
  }
  terminal.out(options.output === "json" ? `${JSON.stringify(report, null, 2)}\n` : textOf(report));
  const { against } = report.counts;
  if (against > 0)
    throw new CheckFailedError(
      `Found ${counted(against, "obstacle")} to the upgrade to ${klutchVersion}. Nothing was written.`,
    );
  const isFree = `Nothing blocks the upgrade to ${klutchVersion}.`;
  if (options.check) return terminal.say(`${isFree} Nothing was written.`);
  if (report.role !== "an app cluster")
    throw new CliError(
      "Usage",
      `${isFree} klutch upgrade writes in app clusters only, and this is ${report.role}. Upgrade a control plane with Helm or kubectl, see docs/upgrade.md; --check only looks.`,
    );
  terminal.say(isFree);
  await upgradeAppCluster(context, consumerOf(config, client), options);
}

/** Inputs of a check; `now` is in milliseconds since the epoch. */
interface Looking {
  readonly now: number;
  readonly release: string;
  readonly acceptsTakeOver: boolean;
}

async function look(reader: ClusterReader, looking: Looking): Promise<Report> {
  const kubernetes = await lookAtKubernetes(reader);
  const programs = await readPrograms(reader);
  const pairs = await readCrds(reader);
  const role = roleOf(
    pairs,
    programs.some(({ part }) => part === "konnector"),
  );
  const bindings = await readBindings(reader);
  const apis = role === "an app cluster" ? await readBoundApis(reader, bindings) : [];
  const bound = apis.flatMap(({ type }): readonly ResourceType[] => (type === undefined ? [] : [type]));
  const parts: Findings[] = [
    kubernetes,
    await lookAtPrograms(reader, programs, looking),
    await lookAtCrds(reader, pairs, role),
    lookAtBindings(bindings),
    await lookForDeletions(reader, role, { pairs, bound }),
  ];
  if (role === "a control plane")
    parts.push(
      await lookAtPackages(reader, looking.release),
      await lookAtTenants(reader, looking),
      await lookAtOffers(reader),
      await lookAtWhoMayBind(reader, programs),
      await lookForGoBackend(reader, programs, looking.acceptsTakeOver),
      await lookForRotatedBindings(reader),
    );
  if (role === "an app cluster") {
    const appCluster = { pairs, bindings, apis, programs };
    parts.push(await lookForGoKonnector(reader, appCluster, looking.acceptsTakeOver));
  }
  const unread = findings({ against: reader.unread });
  return reportOf(looking.release, role, together([...parts, unread]));
}
