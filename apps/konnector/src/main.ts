/** The konnector as a process. */
import { collectGarbage, Manager, ownCluster, runProcess } from "@klutch/kube-runtime";
import { konnectorProgram } from "./config.ts";
import { addAgent, connectKonnector } from "./konnector.ts";
import { tidyWhenQuiet } from "./idle-gc.ts";

await runProcess(konnectorProgram, process, async (config, { signal, env, ...runtime }) => {
  const cluster = await ownCluster(config, env);
  const connection = connectKonnector({ ...runtime, config, cluster });
  const probes = { host: config.probeHost, port: config.probePort };
  const manager = new Manager({ ...runtime, connection, probes });
  const { looks } = addAgent(manager, { config, connection });
  manager.add({
    name: "memory",
    runs: "process",
    start: (options) =>
      tidyWhenQuiet({ clock: runtime.clock, looks, collect: collectGarbage }, options.signal),
  });
  await manager.start({ signal });
});
