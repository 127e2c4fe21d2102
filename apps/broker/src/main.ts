/** The broker as a process. */
import { Manager, runProcess, untilAborted } from "@klutch/kube-runtime";
import { startBroker } from "./broker.ts";
import { brokerProgram } from "./config.ts";

await runProcess(brokerProgram, process, async (config, runtime) => {
  const manager = new Manager({ ...runtime, probes: config.probes });
  manager.add({
    name: "broker",
    runs: "process",
    async start({ signal }) {
      await using broker = await startBroker(config, runtime.logger, runtime.metrics);
      runtime.logger.info("serving", { port: broker.port });
      await untilAborted(signal);
    },
  });
  await manager.start(runtime);
});
