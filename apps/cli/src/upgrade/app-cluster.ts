/** Upgrades an app cluster to this release: its konnector, the roles and the policies, as a bind with a newer plugin does. */
import { consumerNamespace, klutchVersion } from "@klutch/api";
import { confineKonnector, refreshConfinement } from "../app-cluster/confinement.ts";
import { readHome } from "../app-cluster/home.ts";
import { konnectorImage, releasedImage } from "../app-cluster/konnector-image.ts";
import { installKonnector, planKonnector } from "../app-cluster/konnector.ts";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { checkRights, fixRights } from "../doctor/rights.ts";
import { CliError } from "../errors.ts";
import type { CommonOptions } from "../options.ts";

/** Flags of an upgrade that writes. */
export type AppClusterUpgrade = Pick<
  CommonOptions,
  "konnectorImage" | "registry" | "skipKonnector" | "downgradeKonnector" | "claims"
>;

/**
 * Writes what differs from this release. A newer konnector, and an image that cannot be compared, stay with their roles and policies; one that
 * runs this release gets those that it lacks. Rights that the konnector does not have yet are given only when the person says so.
 */
export async function upgradeAppCluster(
  context: CliContext,
  consumer: Consumer,
  options: AppClusterUpgrade,
): Promise<void> {
  const { signal, terminal } = context;
  const home = await readHome(context, consumer);
  const { deployment } = home;
  if (deployment === undefined)
    throw new CliError(
      "Usage",
      `No Deployment of a konnector is in namespace ${consumerNamespace}. kubectl bind installs one; one that runs elsewhere is upgraded there.`,
    );
  if (deployment.metadata.labels?.["app.kubernetes.io/managed-by"] === "Helm")
    throw new CliError(
      "Usage",
      "Helm installed this konnector. Upgrade it with Helm: klutch upgrade would change objects of its release.",
    );
  const current = await konnectorImage(consumer, signal);
  const plan = planKonnector(current, options);
  await installKonnector(context, consumer, plan);
  if (plan.kind === "keep" && releasedImage(current ?? "")?.tag !== klutchVersion) {
    terminal.say("Its roles and policies stay as they are, too: it may need those of its own release.");
    return;
  }
  const confine = plan.kind === "apply" ? confineKonnector : refreshConfinement;
  await confine(context, consumer);
  const rights = await checkRights(context, consumer, home);
  const isChanged = await fixRights(context, consumer, rights, options.claims);
  if (plan.kind === "apply")
    terminal.say(
      `Wait until it runs: kubectl --namespace ${consumerNamespace} rollout status deployment konnector. Then run klutch doctor.`,
    );
  else if (!isChanged)
    terminal.say(
      rights.lacking.size === 0
        ? `Roles and policies are already those of ${klutchVersion}.`
        : "The konnector lacks rights, which were not given; klutch doctor names them.",
    );
}
