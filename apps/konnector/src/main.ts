/** The konnector as a process. */
import { Manager } from "@klutch/kube-runtime";
import { collectGarbage, ownCluster, runProcess } from "@klutch/program";
import { konnectorProgram } from "./config.ts";
import { collectWhenIdle } from "./idle-gc.ts";
import { addAgent, connectKonnector } from "./konnector.ts";

await runProcess(konnectorProgram, process, async (config, { signal, env, ...runtime }) => {
  const cluster = await ownCluster(config, env);
  const connection = connectKonnector({ ...runtime, config, cluster });
  const probes = { host: config.probeHost, port: config.probePort };
  const manager = new Manager({ ...runtime, connection, probes });
  const { reconciles } = addAgent(manager, { config, connection });
  manager.add({
    name: "memory",
    runs: "process",
    start: (options) =>
      collectWhenIdle({ clock: runtime.clock, reconciles, collect: collectGarbage }, options.signal),
  });
  await manager.start({ signal });
});
