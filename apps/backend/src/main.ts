/** The backend as a process; with `gateway` as its first argument the tenant gateway, which ships in the same image. */
import { runGateway } from "@klutch/gateway";
import { ClusterConnection, Manager } from "@klutch/kube-runtime";
import { ownCluster, runProcess } from "@klutch/program";
import { createLogger } from "@klutch/telemetry";
import { createBackend } from "./backend.ts";
import { backendProgram } from "./config.ts";
import { httpServer } from "./http-server.ts";

if (process.argv[2] === "gateway") {
  process.argv.splice(2, 1);
  await runGateway(process);
} else await runBackend();

async function runBackend(): Promise<void> {
  await runProcess(backendProgram, process, async (config, { signal, env, ...runtime }) => {
    const cluster = await ownCluster(config, env);
    const connection = new ClusterConnection({
      ...runtime,
      config: { ...cluster, name: "provider-controllers" },
      userAgent: "klutch-backend",
      lease: { namespace: config.leaseNamespace, name: "klutch-backend", identity: config.identity },
    });
    const probes = { host: config.host, port: config.probePort };
    const manager = new Manager({ ...runtime, connection, probes });
    // What people ask for is answered by every replica.
    const client = manager.own(connection.clientFor({ ...cluster, name: "provider" }, { guarded: false }));
    // What they asked for ends when the server has had its time to answer.
    const people = new AbortController();
    manager.own({ [Symbol.asyncDispose]: async () => people.abort(new Error("the backend has stopped")) });
    const { client: controllerClient } = connection;
    const backend = createBackend({
      ...runtime,
      config,
      cluster,
      client,
      controllerClient,
      auditLogger: createLogger({ name: "audit" }),
      signal: people.signal,
    });
    manager.add(httpServer(backend, config, runtime), ...backend.parts);
    await manager.start({ signal });
  });
}
