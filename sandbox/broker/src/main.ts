/** The broker as a process. */
import { Manager, untilAborted } from "@klutch/kube-runtime";
import { runProcess } from "@klutch/program";
import { startBroker } from "./broker.ts";
import { brokerProgram } from "./config.ts";
import { preparePostgresOf } from "./own-postgres.ts";

await runProcess(brokerProgram, process, async (config, runtime) => {
  const manager = new Manager({ ...runtime, probes: config.probes });
  manager.add({
    name: "broker",
    runs: "process",
    async start({ signal }) {
      await using prepared = await preparePostgresOf(config);
      await using broker = await startBroker(prepared.config, runtime.logger, runtime.metrics);
      runtime.logger.info("serving", { port: broker.port });
      await Promise.race([untilAborted(signal), prepared.lost]);
    },
  });
  await manager.start(runtime);
});
