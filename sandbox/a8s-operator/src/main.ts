/** The operator as a process. */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { openAuthority } from "@klutch/data-servers";
import { tryFileLock } from "@klutch/engines";
import { ClusterConnection, Manager } from "@klutch/kube-runtime";
import { ownCluster, runProcess } from "@klutch/program";
import { operatorProgram } from "./config.ts";
import { addOperator } from "./operator.ts";

await runProcess(operatorProgram, process, async (config, { signal, env, ...runtime }) => {
  const { namespace, identity, reach } = config;
  const folder = resolve(config.folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await using lock = await tryFileLock(join(folder, "operator.lock"));
  if (lock === undefined)
    throw new Error(`another operator works in ${folder}; give this one another --data-folder`);
  const cluster = await ownCluster(config, env);
  const connection = new ClusterConnection({
    ...runtime,
    config: { ...cluster, name: "provider" },
    userAgent: operatorProgram.name,
    lease: config.leaderElection ? { namespace, identity, name: operatorProgram.name } : undefined,
  });
  const manager = new Manager({ ...runtime, connection, probes: config.probes });
  const { client } = connection;
  const authority = await openAuthority(join(folder, "authority"), {
    name: operatorProgram.name,
    now: () => new Date(runtime.clock.now()),
    host: reach.host,
  });
  addOperator(manager, { client, folder, authority, reach });
  await manager.start({ signal });
});
