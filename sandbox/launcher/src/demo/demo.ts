/**
 * The main job, start to end: bind, claim, use, delete. Everything happens with the tools and rights a developer has. The life of an instance as its
 * developer in app cluster A sees it: claim, bind, write, back up, destroy, restore, delete. A developer in app cluster B uses the same names, and keeps the database.
 */
import { join } from "node:path";
import {
  backups,
  claimNamespaceLabel,
  managedServiceBindings,
  restores,
  serviceInstances,
} from "@klutch/api";
import { run } from "@klutch/engines";
import { type DynamicObject, recordAt, type ResourceType, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { claimResource } from "@klutch/services";
import type { AppCluster, DemoContext } from "../context.ts";
import { together } from "../machine.ts";
import { clusterNamespaceOf, waitForConditions } from "../objects.ts";
import type { Progress } from "../progress.ts";
import type { SandboxBroker } from "../services/broker.ts";
import * as applications from "./applications.ts";
import { type DemoClaim, demoClaim, type DemoType, namespaceFile } from "./claims.ts";
import { bindApis } from "./person.ts";

/** A service and the application that uses it. */
interface Chain {
  /** Name for people. */
  readonly title: string;
  readonly type: DemoType;
  readonly application: applications.Application;
  /** Reason for the lack of backups; undefined if they are available. */
  readonly withoutBackups?: string | undefined;
}

/** The demo as a developer in one app cluster goes through it. */
interface Developer extends DemoContext {
  readonly cluster: AppCluster;
  /** Data of the application. */
  readonly words: string;
}

/** Runs the demo; throws when any step does not end as it should. `env`: environment of the plugin. */
export async function runDemo(
  context: DemoContext,
  backendUrl: string,
  broker: SandboxBroker,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { cli, progress } = context;
  const chains = chainsOf(broker);
  const bind = (cluster: AppCluster, kinds: readonly ResourceType[]): Promise<void> => {
    const names = kinds.map(({ plural }) => plural);
    const print = (line: string): void => progress.say(line.replace("\t", "  "));
    return progress.step(`kubectl bind: ${names.join(", ")} into ${titles[cluster]}`, () =>
      bindApis(cli, cluster, backendUrl, names, print, env),
    );
  };
  const [shared] = chains;
  await bind("appA", kindsOf(chains));
  await bind(
    "appB",
    kept(shared).map(({ resource }) => resource),
  );
  const services = chains.map(({ title }) => title).join(", ");
  await progress.step(`what developers do, side by side: ${services}`, async () => {
    const developer = (cluster: AppCluster): Developer => {
      const words = `Hello from ${titles[cluster]}`;
      return { ...context, cluster, words };
    };
    const beside = useAndKeep(shared, developer("appB"));
    await applyFile(developer("appA"), namespaceFile);
    await together([beside, ...chains.map((chain) => liveThrough(chain, developer("appA"), beside))]);
  });
  await progress.step("check that nothing is left in app cluster A", () =>
    expectNothingLeft(context, chains),
  );
}

const titles = { appA: "app cluster A", appB: "app cluster B" };

/** Returns the chains of app cluster A; app cluster B has the first, too. */
function chainsOf({ postgresUrl, hasBackups, servers }: SandboxBroker): readonly [Chain, ...Chain[]] {
  const { mariadb, keyvalue } = servers;
  const why = "there is no pg_dump for this server; docs/sandbox.md says how to get one";
  const withoutBackups = hasBackups ? undefined : `no backup is made: ${why}`;
  const chain = (title: string, type: DemoType, application: applications.Application): Chain => ({
    title,
    type,
    application,
  });
  return [
    { ...chain("PostgreSQL", "postgresql", applications.postgresqlApplication(postgresUrl)), withoutBackups },
    ...(mariadb === undefined ? [] : [chain("MariaDB", "mariadb", applications.mariadbApplication(mariadb))]),
    ...(keyvalue === undefined
      ? []
      : [chain("KeyValue", "keyvalue", applications.keyvalueApplication(keyvalue))]),
  ];
}

/** Returns the kinds of all claims. */
function kindsOf(chains: readonly Chain[]): readonly ResourceType[] {
  return [
    ...chains.map(({ type }) => demoClaim(type, "instance").resource),
    ...["ServiceBinding", "Backup", "Restore"].map((kind) => claimResource(kind)),
  ];
}

async function expectNothingLeft({ clusters, progress }: DemoContext, chains: readonly Chain[]) {
  const { appA, controlPlane } = clusters;
  const gone = (what: string, probe: () => Promise<boolean>): Promise<true> =>
    waitFor(`${what} to be gone`, probe);
  for (const { type } of chains) {
    const ref = secretOf(demoClaim(type, "binding"));
    await gone(`Secret ${ref.name}`, async () => (await appA.client.find(secrets, ref)) === undefined);
  }
  const mine = (await clusterNamespaceOf(appA.client)) ?? "";
  const isMine = ({ metadata: { namespace, labels } }: DynamicObject): boolean =>
    (namespace ?? labels?.[claimNamespaceLabel])?.startsWith(mine) === true;
  const managed = [serviceInstances, managedServiceBindings, backups, restores];
  for (const type of [...kindsOf(chains), ...managed]) {
    const isEmpty = async (): Promise<boolean> =>
      !(await controlPlane.client.list<DynamicObject>(type)).items.some(isMine);
    await gone(`${type.kind} (${type.group}) in the control plane`, isEmpty);
  }
  progress.say("claims, managed resources, Secrets, databases and servers of instances are gone");
}

/** Returns the claims that stay in app cluster B. */
function kept({ type }: Chain): readonly [instance: DemoClaim, binding: DemoClaim] {
  return [demoClaim(type, "instance"), demoClaim(type, "binding")];
}

/** Uses an instance that may be of an earlier start, and keeps it. Returns the credentials. */
async function useAndKeep(chain: Chain, base: Developer): Promise<applications.Credentials> {
  const developer: Developer = { ...base, progress: base.progress.beside("cluster B") };
  await applyFile(developer, namespaceFile);
  return obtain(chain, developer);
}

/** Makes an instance and a binding, and writes with the credentials, which it returns. */
async function obtain(chain: Chain, developer: Developer): Promise<applications.Credentials> {
  const [instance, binding] = kept(chain);
  for (const { file } of [instance, binding]) await applyFile(developer, file);
  await developer.progress.step("both claims are Ready", async () => {
    await untilReady(developer, instance);
    await untilReady(developer, binding);
  });
  const credentials = await readCredentials(developer, binding);
  await useServer(chain, credentials, developer);
  return credentials;
}

/** Lives it while a developer uses an instance `beside` it; throws when any step does not end as it should. */
async function liveThrough(chain: Chain, base: Developer, beside: Promise<applications.Credentials>) {
  const { type, application, title } = chain;
  const progress = base.progress.beside(title);
  const developer: Developer = { ...base, progress };
  const [instance, binding] = kept(chain);
  const credentials = await obtain(chain, developer);
  if (type === "postgresql") await expectClosed(application, credentials, await beside, progress);
  if (chain.withoutBackups === undefined) await backUpAndRestore(chain, developer, credentials);
  else progress.say(chain.withoutBackups);
  await deleteClaim(developer, binding);
  await deleteClaim(developer, instance);
  const isGone = (): Promise<boolean> => application.isGone(credentials);
  await waitFor(`${title} to be gone at the broker`, isGone);
}

/** Throws if the credentials of one claim open the database of the other. */
async function expectClosed(
  { send, whoami }: applications.Application,
  mine: applications.Credentials,
  theirs: applications.Credentials,
  progress: Progress,
): Promise<void> {
  for (const [who, whose] of [
    [mine, theirs],
    [theirs, mine],
  ] as const)
    if (!(await applications.isRefused(send({ ...who, name: whose["name"] ?? "" }, whoami))))
      throw new Error(`${who["username"]} may log in to the database ${whose["name"]}`);
  progress.say("the credentials of app clusters A and B do not open each other's database");
}

/** Throws if the server knows the application by another name than its Secret. */
async function useServer(
  { title, application }: Chain,
  credentials: applications.Credentials,
  { progress, words }: Developer,
): Promise<void> {
  const send = (command: readonly string[]): Promise<string> => application.send(credentials, command);
  const { name, command, version } = application.server;
  const user = credentials["username"] ?? credentials["valkey.username"];
  const [who] = (await send(application.whoami)).split("@");
  if (who !== user) throw new Error(`${title} sees ${who}, not ${user}`);
  await send(application.write(words));
  const server = `${name} ${version.exec(await send(command))?.[1]}`;
  progress.say(`${server} took from ${who}: ${await send(application.read)}`);
}

/** Throws if the restored data differ from the original. */
async function backUpAndRestore(
  { type, application }: Chain,
  developer: Developer,
  credentials: applications.Credentials,
): Promise<void> {
  const { progress, words } = developer;
  const [backup, restore] = [demoClaim(type, "backup"), demoClaim(type, "restore")];
  await applyFile(developer, backup.file);
  await progress.step("the Backup is Ready", () => untilReady(developer, backup));
  await application.send(credentials, application.destroy);
  progress.say(application.destroyed);
  await applyFile(developer, restore.file);
  await progress.step("the Restore is Ready", () => untilReady(developer, restore));
  const back = await application.send(credentials, application.read);
  if (back !== words) throw new Error(`after the restore there is "${back}", not "${words}"`);
  progress.say(`restored: ${back}`);
  await deleteClaim(developer, restore);
  await deleteClaim(developer, backup);
}

/** Applies a file of the sandbox's folder. */
async function applyFile(developer: Developer, name: string): Promise<void> {
  const path = join(developer.state.folder, name);
  // The binding before has just made the kinds; discovery may lag for a moment.
  const apply = (): Promise<string> => kubectl(developer, "apply", "-f", path);
  developer.progress.say(await waitFor(`kubectl apply -f ${name}`, apply));
}

async function untilReady({ clusters, cluster }: Developer, { resource, ref }: DemoClaim): Promise<void> {
  await waitForConditions(clusters[cluster].client, resource, ref, ["Ready"]);
}

/** Returns when the claim is gone. */
async function deleteClaim(developer: Developer, { resource, ref }: DemoClaim): Promise<void> {
  const args = [`${resource.plural}.${resource.group}`, ref.name, "-n", ref.namespace, "--timeout=120s"];
  developer.progress.say(await kubectl(developer, "delete", ...args));
}

async function kubectl({ cli, cluster }: Developer, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(join(cli.bin, "kubectl"), ["--kubeconfig", cli.kubeconfigs[cluster], ...args]);
  return stdout.trim();
}

async function readCredentials({ clusters, cluster, progress }: Developer, binding: DemoClaim) {
  const ref = secretOf(binding);
  const { client } = clusters[cluster];
  const secret = await waitFor(`Secret ${ref.name}`, () => client.find<DynamicObject>(secrets, ref));
  const data = recordAt(secret, "data");
  progress.say(`Secret ${ref.name} has the keys ${Object.keys(data).toSorted().join(", ")}`);
  const decode = (value: unknown): string => Buffer.from(String(value), "base64").toString("utf8");
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));
}

/** Returns the reference of a binding's Secret. */
function secretOf({ ref }: DemoClaim): DemoClaim["ref"] {
  return { ...ref, name: `${ref.name}-creds` };
}
