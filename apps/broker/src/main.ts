/** The broker's process. */
import { once } from "node:events";
import { createLogger } from "@klutch/telemetry";
import { startBroker } from "./broker.ts";
import { readConfig } from "./config.ts";

const logger = createLogger({ name: "broker" });
const broker = await startBroker(readConfig(process.env), logger);
logger.info("serving", { port: broker.port });
await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await broker[Symbol.asyncDispose]();
