/** An application with a PostgreSQL database. */
import pg from "pg";
import type { Application, Credentials } from "./application.ts";

/**
 * `adminUrl`: of a superuser of the server that holds the databases, to see that they are really gone. Without it an application's word has
 * to do: the server knows its login no more.
 */
export function postgresqlApplication(adminUrl: string | undefined): Application {
  return {
    async write(credentials, words) {
      return withDatabase(credentials, async (client) => {
        await client.query("create table greetings (id serial primary key, words text not null)");
        await client.query("insert into greetings (words) values ($1)", [words]);
        const { rows } = await client.query<{ version: string; who: string }>(
          "select current_setting('server_version') as version, session_user as who",
        );
        const [{ version, who } = { version: "", who: "" }] = rows;
        return { server: `PostgreSQL ${version}`, who };
      });
    },
    async destroy(credentials) {
      await withDatabase(credentials, (client) => client.query("drop table greetings"));
      return "the table is dropped";
    },
    async read(credentials) {
      return withDatabase(credentials, async (client) => {
        const { rows } = await client.query<{ words: string }>("select words from greetings");
        return rows.map((row) => row.words).join(", ");
      });
    },
    async isGone(credentials) {
      if (adminUrl === undefined) return isRefused(credentials);
      const { name, username } = credentials;
      return withClient({ connectionString: adminUrl }, async (admin) => {
        const { rowCount } = await admin.query(
          "select 1 from pg_database where datname = $1 union all select 1 from pg_roles where rolname = $2",
          [name, username],
        );
        return rowCount === 0;
      });
    },
  };
}

/** PostgreSQL's codes of a wrong password or an unknown user, and of an unknown database. */
const refusals = ["28P01", "28000", "3D000"];

async function isRefused(credentials: Credentials): Promise<boolean> {
  try {
    return await withDatabase(credentials, () => Promise.resolve(false));
  } catch (error) {
    if (error instanceof pg.DatabaseError && refusals.includes(error.code ?? "")) return true;
    throw error;
  }
}

function withDatabase<T>(
  { host, port, name, username, password }: Credentials,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return withClient({ host, port: Number(port), database: name, user: username, password }, work);
}

async function withClient<T>(config: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(config);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
