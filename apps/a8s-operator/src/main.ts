/** The operator as a process. */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { tryFileLock } from "@klutch/engines";
import { ClusterConnection, Manager, ownCluster, runProcess } from "@klutch/kube-runtime";
import { operatorProgram } from "./config.ts";
import { addOperator, installKinds } from "./operator.ts";

await runProcess(operatorProgram, process, async (config, { signal, env, ...runtime }) => {
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
  });
  const manager = new Manager({ ...runtime, connection, probes: config.probes });
  const { client } = connection;
  await installKinds(client, { ...runtime, signal });
  addOperator(manager, { client, folder });
  await manager.start({ signal });
});
