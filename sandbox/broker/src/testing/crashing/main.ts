/** A broker as a process of its own that ends itself, as `kill -9` would, when its backup manager comes to a step. */
import { silentLogger } from "@klutch/telemetry";
import { startBroker } from "../../broker.ts";
import { brokerProgram } from "../../config.ts";
import { preparePostgresOf } from "../../own-postgres.ts";

const crashAt = process.argv[2];
const { config } = await preparePostgresOf(
  await brokerProgram.readConfig({ args: [], env: process.env, randomName: () => "crashing" }),
);
const { backups } = config;
const onStep = (step: string): void => {
  if (step === crashAt) process.kill(process.pid, "SIGKILL");
};
const broker = await startBroker(
  { ...config, backups: backups === undefined ? undefined : { ...backups, onStep } },
  silentLogger,
);
process.stdout.write(`${broker.port}\n`);
