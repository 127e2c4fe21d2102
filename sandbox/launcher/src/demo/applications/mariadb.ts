/** An application with a MariaDB server of its own, reached by TLS. */
import type { DebianPrograms } from "@klutch/engines";
import { isListening } from "../../listening.ts";
import type { Application, Credentials } from "./application.ts";
import { runClient } from "./client-program.ts";

/** `programs` has MariaDB's own client. */
export function mariadbApplication(programs: DebianPrograms): Application {
  const sql = (credentials: Credentials, statements: string): Promise<string> => {
    const { host = "", port = "", username = "", password = "", name = "" } = credentials;
    return runClient(credentials, {
      programs,
      program: "mariadb",
      args: (authority) => [
        "--no-defaults",
        "--protocol=tcp",
        `--host=${host}`,
        `--port=${port}`,
        `--user=${username}`,
        `--ssl-ca=${authority}`,
        "--ssl-verify-server-cert",
        "--batch",
        "--skip-column-names",
        `--execute=${statements}`,
        name,
      ],
      env: { MYSQL_PWD: password },
    });
  };
  return {
    async write(credentials, words) {
      const answer = await sql(
        credentials,
        "create table greetings (id int auto_increment primary key, words text not null); " +
          `insert into greetings (words) values ('${words}'); select version(), session_user()`,
      );
      const [version = "", who = ""] = answer.split("\t");
      return { server: `MariaDB ${version}`, who: who.replace(/@.*$/, "") };
    },
    async destroy(credentials) {
      await sql(credentials, "drop table greetings");
      return "the table is dropped";
    },
    read: (credentials) => sql(credentials, "select words from greetings"),
    isGone: async ({ host = "", port }) => !(await isListening(Number(port), host)),
  };
}
