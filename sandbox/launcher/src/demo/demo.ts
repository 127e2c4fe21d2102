/** The main job, start to end: bind, claim, use, delete. Everything happens with the tools and rights a developer has. */
import { backups, managedServiceBindings, restores, serviceInstances } from "@klutch/api";
import { secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { claimResource } from "@klutch/services";
import type { CliFiles } from "../cli-files.ts";
import type { DemoContext } from "../context.ts";
import type { SandboxBroker } from "../services/broker.ts";
import { together } from "../together.ts";
import { keyvalueApplication } from "./applications/keyvalue.ts";
import { mariadbApplication } from "./applications/mariadb.ts";
import { postgresqlApplication } from "./applications/postgresql.ts";
import { bindApi } from "./bind.ts";
import { type Chain, liveThrough } from "./chain.ts";
import { demoServices, namespaceFile } from "./claims.ts";
import { applyFiles, secretOf, shared, type Workplace } from "./developer.ts";

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
  const kinds = [...chains.map(({ service }) => claimResource(service.kind)), ...Object.values(shared)];
  for (const [index, { plural }] of kinds.entries()) {
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
    await applyFiles(workplace, namespaceFile);
    await together(chains.map((chain) => liveThrough(chain, workplace)));
  });
  await progress.step("check that nothing is left", () => expectNothingLeft(context, chains));
}

function chainsOf({ postgresUrl, hasBackups, servers }: SandboxBroker): readonly Chain[] {
  const { mariadb, keyvalue } = servers;
  return [
    {
      title: "PostgreSQL",
      service: demoServices.postgresql,
      application: postgresqlApplication(postgresUrl),
      withoutBackups: hasBackups
        ? undefined
        : "no backup is made: there is no pg_dump for this server; docs/sandbox.md says how to get one",
    },
    ...(mariadb === undefined
      ? []
      : [
          {
            title: "MariaDB",
            service: demoServices.mariadb,
            application: mariadbApplication(mariadb),
          },
        ]),
    ...(keyvalue === undefined
      ? []
      : [
          {
            title: "KeyValue",
            service: demoServices.keyvalue,
            application: keyvalueApplication(keyvalue),
          },
        ]),
  ];
}

async function expectNothingLeft(
  { clusters, progress }: DemoContext,
  chains: readonly Chain[],
): Promise<void> {
  const { appA, controlPlane } = clusters;
  const gone = (what: string, probe: () => Promise<boolean>): Promise<true> =>
    waitFor(`${what} to be gone`, probe, { timeoutMs: 60_000 });
  for (const { service } of chains) {
    const ref = secretOf(service.name);
    await gone(`Secret ${ref.name}`, async () => (await appA.client.find(secrets, ref)) === undefined);
  }
  for (const type of [
    ...chains.map(({ service }) => claimResource(service.kind)),
    ...Object.values(shared),
    serviceInstances,
    managedServiceBindings,
    backups,
    restores,
  ]) {
    await gone(
      `${type.kind} (${type.group}) in the control plane`,
      async () => (await controlPlane.client.list(type)).items.length === 0,
    );
  }
  progress.say("claims, managed resources, Secrets, databases and servers of instances are gone");
}
