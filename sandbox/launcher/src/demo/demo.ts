/** The main job, start to end: bind, claim, use, delete. Everything happens with the tools and rights a developer has. */
import { backups, managedServiceBindings, restores, serviceInstances } from "@klutch/api";
import { type ResourceType, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { claimResource } from "@klutch/services";
import type { CliFiles } from "../cli-files.ts";
import type { DemoContext } from "../context.ts";
import { together } from "../machine.ts";
import type { SandboxBroker } from "../services/broker.ts";
import { keyvalueApplication, mariadbApplication, postgresqlApplication } from "./applications.ts";
import { applyFile, type Chain, liveThrough, secretOf, type Workplace } from "./chain.ts";
import { demoClaim, namespaceFile } from "./claims.ts";
import { bindApi } from "./person.ts";

/** Facts about the sandbox that the demo needs. */
export interface DemoInput {
  readonly context: DemoContext;
  readonly cli: CliFiles;
  readonly backendUrl: string;
  readonly broker: SandboxBroker;
  /** Environment of the plugin. Default: none. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Runs the demo; throws when any step does not end as it should. */
export async function runDemo({ context, cli, backendUrl, broker, env }: DemoInput): Promise<void> {
  const { progress } = context;
  const chains = chainsOf(broker);
  for (const [index, { plural }] of kindsOf(chains).entries()) {
    // Output that is the same for all kinds is shown once, but every question is shown.
    const print = (line: string): void => {
      if (index === 0 || /\bAPIServiceBinding\b|^The provider wants|^\t- /.test(line))
        progress.say(line.replace("\t", "  "));
    };
    await progress.step(`kubectl bind: ${plural}.anynines.com into app cluster A`, () =>
      bindApi(cli, backendUrl, plural, print, env),
    );
  }
  const titles = chains.map(({ title }) => title).join(", ");
  await progress.step(`what a developer does, side by side: ${titles}`, async () => {
    const workplace: Workplace = { context, cli, progress };
    await applyFile(workplace, namespaceFile);
    await together(chains.map((chain) => liveThrough(chain, workplace)));
  });
  await progress.step("check that nothing is left", () => expectNothingLeft(context, chains));
}

function chainsOf({
  postgresUrl,
  hasBackups,
  servers: { mariadb, keyvalue },
}: SandboxBroker): readonly Chain[] {
  const withoutBackups = hasBackups
    ? undefined
    : "no backup is made: there is no pg_dump for this server; docs/sandbox.md says how to get one";
  const chains: Chain[] = [
    {
      title: "PostgreSQL",
      type: "postgresql",
      application: postgresqlApplication(postgresUrl),
      withoutBackups,
    },
  ];
  if (mariadb !== undefined)
    chains.push({ title: "MariaDB", type: "mariadb", application: mariadbApplication(mariadb) });
  if (keyvalue !== undefined)
    chains.push({ title: "KeyValue", type: "keyvalue", application: keyvalueApplication(keyvalue) });
  return chains;
}

/** Returns the kinds of all claims. */
function kindsOf(chains: readonly Chain[]): readonly ResourceType[] {
  return [
    ...chains.map(({ type }) => demoClaim(type, "instance").resource),
    ...["ServiceBinding", "Backup", "Restore"].map((kind) => claimResource(kind)),
  ];
}

async function expectNothingLeft(
  { clusters: { appA, controlPlane }, progress }: DemoContext,
  chains: readonly Chain[],
): Promise<void> {
  const gone = (what: string, probe: () => Promise<boolean>): Promise<true> =>
    waitFor(`${what} to be gone`, probe);
  for (const { type } of chains) {
    const ref = secretOf(demoClaim(type, "binding"));
    await gone(`Secret ${ref.name}`, async () => (await appA.client.find(secrets, ref)) === undefined);
  }
  const managed = [serviceInstances, managedServiceBindings, backups, restores];
  for (const type of [...kindsOf(chains), ...managed]) {
    const isEmpty = async (): Promise<boolean> => (await controlPlane.client.list(type)).items.length === 0;
    await gone(`${type.kind} (${type.group}) in the control plane`, isEmpty);
  }
  progress.say("claims, managed resources, Secrets, databases and servers of instances are gone");
}
