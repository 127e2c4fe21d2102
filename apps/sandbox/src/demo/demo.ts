/** The main job, start to end: bind, claim, use, delete. Everything happens with the tools and rights a developer has. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type DynamicObject, recordAt, type ResourceType, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import pg from "pg";
import { waitForConditions } from "../objects.ts";
import type { CliFiles } from "../cli-files.ts";
import type { SandboxContext } from "../context.ts";
import { bindApi } from "./bind.ts";
import { bindingName, claimFiles, demoNamespace, instanceName } from "./claims.ts";

const run = promisify(execFile);
const claim = (kind: string, plural: string): ResourceType => ({
  group: "anynines.com",
  version: "v1",
  plural,
  kind,
  namespaced: true,
});
const instances = claim("PostgresqlInstance", "postgresqlinstances");
const bindings = claim("ServiceBinding", "servicebindings");
const managed = (kind: string, plural: string): ResourceType => ({
  group: "dataservices.anynines.com",
  version: "v1",
  plural,
  kind,
  namespaced: false,
});

/** What the demo needs to know of the sandbox. */
export interface DemoInput {
  readonly context: SandboxContext;
  readonly cli: CliFiles;
  readonly backendUrl: string;
  /** Of the server behind the broker, to see that things are really gone. */
  readonly postgresUrl: string;
}

/** Runs the demo; throws when any step does not end as it should. */
export async function runDemo(input: DemoInput): Promise<void> {
  const { context, cli, backendUrl } = input;
  const { progress } = context;
  for (const resource of ["postgresqlinstances", "servicebindings"]) {
    await progress.step(`kubectl bind: ${resource}.anynines.com into app cluster A`, () =>
      bindApi(cli, backendUrl, resource, (line) => progress.say(line)),
    );
  }
  await progress.step("kubectl apply: a PostgresqlInstance and a ServiceBinding", () => applyClaims(input));
  const credentials = await progress.step(
    "wait until both claims are Ready in app cluster A and the Secret is there",
    () => arrive(input),
  );
  await progress.step("SQL with exactly these credentials", () => useDatabase(input, credentials));
  await progress.step("kubectl delete: both claims", () => deleteClaims(input));
  await progress.step("check that nothing is left", () => expectNothingLeft(input, credentials));
}

function kubectl(cli: CliFiles, ...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return run(join(cli.bin, "kubectl"), ["--kubeconfig", cli.kubeconfigs.appA, ...args]);
}

async function applyClaims({ context, cli }: DemoInput): Promise<void> {
  for (const [name] of claimFiles) {
    const path = join(context.state.folder, name);
    // The binding above has just made the kinds; discovery may lag for a moment.
    const { stdout } = await waitFor(`kubectl apply -f ${name}`, () => kubectl(cli, "apply", "-f", path), {
      timeoutMs: 60_000,
    });
    context.progress.say(stdout.trim());
  }
}

type Credentials = Readonly<Record<string, string>>;

async function arrive({ context }: DemoInput): Promise<Credentials> {
  const { client } = context.clusters.appA;
  await waitForConditions(client, instances, { namespace: demoNamespace, name: instanceName }, ["Ready"]);
  await waitForConditions(client, bindings, { namespace: demoNamespace, name: bindingName }, ["Ready"]);
  const secret = await waitFor(`Secret ${bindingName}-creds`, () =>
    client.find<DynamicObject>(secrets, { namespace: demoNamespace, name: `${bindingName}-creds` }),
  );
  const data = recordAt(secret, "data");
  context.progress.say(
    `Secret ${demoNamespace}/${bindingName}-creds has the keys ${Object.keys(data).toSorted().join(", ")}`,
  );
  const decode = (value: unknown): string => Buffer.from(String(value), "base64").toString("utf8");
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));
}

async function useDatabase({ context }: DemoInput, credentials: Credentials): Promise<void> {
  const { host, port, name, username, password } = credentials;
  const client = new pg.Client({ host, port: Number(port), database: name, user: username, password });
  await client.connect();
  try {
    await client.query("create table greetings (id serial primary key, words text not null)");
    await client.query("insert into greetings (words) values ($1)", ["Hello from app cluster A"]);
    const { rows } = await client.query<{ words: string; version: string; who: string }>(
      "select words, current_setting('server_version') as version, session_user as who from greetings",
    );
    const [row] = rows;
    context.progress.say(`PostgreSQL ${row?.version} answered ${row?.who}: ${row?.words}`);
    if (row?.who !== username) throw new Error(`the database sees ${row?.who}, not ${username}`);
  } finally {
    await client.end();
  }
}

async function deleteClaims({ cli, context }: DemoInput): Promise<void> {
  for (const [plural, name] of [
    ["servicebindings.anynines.com", bindingName],
    ["postgresqlinstances.anynines.com", instanceName],
  ] as const) {
    const { stdout } = await kubectl(cli, "delete", plural, name, "-n", demoNamespace, "--timeout=120s");
    context.progress.say(stdout.trim());
  }
}

async function expectNothingLeft(
  { context, postgresUrl }: DemoInput,
  credentials: Credentials,
): Promise<void> {
  const { appA, controlPlane } = context.clusters;
  const gone = (what: string, probe: () => Promise<boolean>): Promise<true> =>
    waitFor(`${what} to be gone`, probe, { timeoutMs: 60_000 });
  await gone("the Secret in app cluster A", async () => {
    return (
      (await appA.client.find(secrets, { namespace: demoNamespace, name: `${bindingName}-creds` })) ===
      undefined
    );
  });
  for (const type of [
    instances,
    bindings,
    managed("ServiceInstance", "serviceinstances"),
    managed("ServiceBinding", "servicebindings"),
  ]) {
    await gone(
      `${type.kind} (${type.group}) in the control plane`,
      async () => (await controlPlane.client.list(type)).items.length === 0,
    );
  }
  const admin = new pg.Client({ connectionString: postgresUrl });
  await admin.connect();
  try {
    const left = async (query: string, value: string | undefined): Promise<boolean> =>
      ((await admin.query(query, [value])).rowCount ?? 0) === 0;
    await gone("the database", () =>
      left("select 1 from pg_database where datname = $1", credentials["name"]),
    );
    await gone("the database user", () =>
      left("select 1 from pg_roles where rolname = $1", credentials["username"]),
    );
  } finally {
    await admin.end();
  }
  context.progress.say("claims, managed resources, Secret, database and database user are gone");
}
