/** The programs of servers that instances have of their own, as far as this machine has them or can fetch them. */
import { type DebianPrograms, EngineError, resolveDebian } from "@klutch/engines";
import type { Progress } from "../progress.ts";
import { together } from "../together.ts";

/** Programs by type of data service; unavailable ones are absent. */
export type DataServers = Readonly<Partial<Record<"mariadb" | "keyvalue", DebianPrograms>>>;

/** Downloads missing programs. Reports unavailable ones in one line, and the sandbox omits that service. `resolve`: for tests. */
export async function obtainDataServers(
  progress: Pick<Progress, "say">,
  signal: AbortSignal,
  resolve: typeof resolveDebian = resolveDebian,
): Promise<DataServers> {
  const obtain = async (name: "mariadb" | "redis", title: string): Promise<DebianPrograms | undefined> => {
    try {
      return await resolve(name, { progress: (line) => progress.say(line), signal });
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== "PackageMissing") throw error;
      progress.say(`${title} is not offered: ${error.message}`);
      return undefined;
    }
  };
  const [mariadb, redis] = await together([obtain("mariadb", "MariaDB"), obtain("redis", "KeyValue")]);
  return {
    ...(mariadb === undefined ? {} : { mariadb }),
    ...(redis === undefined ? {} : { keyvalue: redis }),
  };
}
