/** The konnector as a process. */
import { Manager } from "@klutch/kube-runtime";
import { collectGarbage, ownCluster, runProcess } from "@klutch/program";
import { konnectorProgram } from "./config.ts";
import { collectWhenIdle } from "./idle-gc.ts";
import { addAgent, connectKonnector, type CreateAgent } from "./konnector.ts";

/** A bundle holds the modules below `agent.ts` as text until then. */
const load = async (): Promise<CreateAgent> => (await import("./agent.ts")).createAgent;

await runProcess(konnectorProgram, process, async (config, { signal, env, ...runtime }) => {
  const cluster = await ownCluster(config, env);
  const connection = connectKonnector({ ...runtime, config, cluster });
  const probes = { host: config.probeHost, port: config.probePort };
  const manager = new Manager({ ...runtime, connection, probes });
  const work = addAgent(manager, { config, connection, load });
  manager.add({
    name: "memory",
    runs: "process",
    start: (options) =>
      collectWhenIdle({ clock: runtime.clock, ...work, collect: collectGarbage }, options.signal),
  });
  await manager.start({ signal });
});
