/** An application with a key-value store of its own, reached by TLS. */
import type { DebianPrograms } from "@klutch/engines";
import { isListening } from "../../listening.ts";
import type { Application, Credentials } from "./application.ts";
import { runClient } from "./client-program.ts";

/** `programs` has the store's own client. */
export function keyvalueApplication(programs: DebianPrograms): Application {
  const send = (credentials: Credentials, ...command: readonly string[]): Promise<string> => {
    const { host = "", "valkey.port": port = "", "valkey.username": username = "" } = credentials;
    return runClient(credentials, {
      programs,
      program: "redis-cli",
      // -e: an answer that is an error is one of the client's.
      args: (authority) => [
        "-e",
        "-h",
        host,
        "-p",
        port,
        "--tls",
        "--cacert",
        authority,
        "--user",
        username,
        ...command,
      ],
      env: { REDISCLI_AUTH: credentials["valkey.password"] ?? "" },
    });
  };
  return {
    async write(credentials, words) {
      await send(credentials, "SET", "greetings", words);
      const version = /^redis_version:(\S+)/m.exec(await send(credentials, "INFO", "server"))?.[1] ?? "";
      return { server: `Redis ${version}`, who: await send(credentials, "ACL", "WHOAMI") };
    },
    async destroy(credentials) {
      await send(credentials, "FLUSHALL");
      return "all keys are flushed";
    },
    read: (credentials) => send(credentials, "GET", "greetings"),
    isGone: async ({ host = "", "valkey.port": port }) => !(await isListening(Number(port), host)),
  };
}
