/** The main job, start to end: bind, claim, use, delete. Everything happens with the tools and rights a developer has. */
import { type DynamicObject, recordAt, type ResourceType, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import pg from "pg";
import { waitForConditions } from "../objects.ts";
import { backUpAndRestore } from "./backup.ts";
import { bindApi } from "./bind.ts";
import { bindingName, demoNamespace, instanceName } from "./claims.ts";
import {
  applyFiles,
  claimed,
  type Credentials,
  deleteClaim,
  withDatabase,
  type Workplace,
} from "./developer.ts";

const managed = (kind: string, plural: string): ResourceType => ({
  group: "dataservices.anynines.com",
  version: "v1",
  plural,
  kind,
  namespaced: false,
});

/** What the demo needs to know of the sandbox. */
export interface DemoInput extends Workplace {
  readonly backendUrl: string;
  /** Of the server behind the broker, to see that things are really gone. */
  readonly postgresUrl: string;
  /** Whether the broker has programs for backups of that server. */
  readonly hasBackups: boolean;
}

/** Runs the demo; throws when any step does not end as it should. */
export async function runDemo(input: DemoInput): Promise<void> {
  const { context, cli, backendUrl } = input;
  const { progress } = context;
  for (const { plural } of Object.values(claimed)) {
    await progress.step(`kubectl bind: ${plural}.anynines.com into app cluster A`, () =>
      bindApi(cli, backendUrl, plural, (line) => progress.say(line)),
    );
  }
  await progress.step("kubectl apply: a PostgresqlInstance and a ServiceBinding", () =>
    applyFiles(input, "namespace.yaml", "postgresqlinstance.yaml", "servicebinding.yaml"),
  );
  const credentials = await progress.step(
    "wait until both claims are Ready in app cluster A and the Secret is there",
    () => arrive(input),
  );
  await progress.step("SQL with exactly these credentials", () => useDatabase(input, credentials));
  if (input.hasBackups) await backUpAndRestore(input, credentials);
  else
    progress.say(
      "no backup is made: there is no pg_dump for this PostgreSQL server; README says how to get one",
    );
  await progress.step("kubectl delete: both claims", async () => {
    await deleteClaim(input, claimed.bindings, bindingName);
    await deleteClaim(input, claimed.instances, instanceName);
  });
  await progress.step("check that nothing is left", () => expectNothingLeft(input, credentials));
}

async function arrive({ context }: DemoInput): Promise<Credentials> {
  const { client } = context.clusters.appA;
  await waitForConditions(client, claimed.instances, { namespace: demoNamespace, name: instanceName }, [
    "Ready",
  ]);
  await waitForConditions(client, claimed.bindings, { namespace: demoNamespace, name: bindingName }, [
    "Ready",
  ]);
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
  await withDatabase(credentials, async (client) => {
    await client.query("create table greetings (id serial primary key, words text not null)");
    await client.query("insert into greetings (words) values ($1)", ["Hello from app cluster A"]);
    const { rows } = await client.query<{ words: string; version: string; who: string }>(
      "select words, current_setting('server_version') as version, session_user as who from greetings",
    );
    const [row] = rows;
    context.progress.say(`PostgreSQL ${row?.version} answered ${row?.who}: ${row?.words}`);
    if (row?.who !== credentials["username"])
      throw new Error(`the database sees ${row?.who}, not ${credentials["username"]}`);
  });
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
    ...Object.values(claimed),
    managed("ServiceInstance", "serviceinstances"),
    managed("ServiceBinding", "servicebindings"),
    managed("Backup", "backups"),
    managed("Restore", "restores"),
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
