/** The composition function's process. */
import { once } from "node:events";
import { serveFunction } from "@klutch/crossplane";
import { createLogger } from "@klutch/telemetry";
import { compose } from "./compose.ts";
import { readConfig } from "./config.ts";

const config = readConfig(process.argv.slice(2), process.env);
const logger = createLogger({ name: "function-klutch", level: config.verbose ? "debug" : "info" });
const server = await serveFunction({ ...config, compose, logger });
logger.info("serving", { port: server.port });
await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await server[Symbol.asyncDispose]();
