/** The composition function as a process. */
import { serveFunction } from "@klutch/crossplane";
import { Manager, untilAborted } from "@klutch/kube-runtime";
import { runProcess } from "@klutch/program";
import { compose } from "./compose.ts";
import { functionProgram } from "./config.ts";
import { causesOfComposite } from "./trace-context.ts";

await runProcess(functionProgram, process, async (config, runtime) => {
  const manager = new Manager({ ...runtime, probes: config.probes });
  manager.add({
    name: "function",
    runs: "process",
    async start({ signal }) {
      const { logger, metrics, tracer } = runtime;
      await using server = await serveFunction({
        ...config,
        ...config.listen,
        compose,
        logger,
        metrics,
        tracer,
        causesOf: causesOfComposite,
      });
      logger.info("serving", { port: server.port });
      await untilAborted(signal);
    },
  });
  await manager.start(runtime);
});
