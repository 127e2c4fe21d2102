/** `npm run sandbox`. */
import { readConfig, type Config, usage } from "./config.ts";
import { createProgress } from "./progress.ts";
import { runOnNodes } from "./nodes/run.ts";
import { runSandbox } from "./sandbox.ts";

const config = configOrExit();
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => stop.abort(new Error(`stopped by ${name}`)));
}
const print = (line: string): void => console.log(line);
const progress = createProgress(print, () => performance.now(), stop.signal);
try {
  await (config.nodes ? runOnNodes : runSandbox)(config, progress, stop.signal);
} catch (error) {
  if (stop.signal.aborted) {
    process.exitCode = 130;
  } else {
    console.error(`\nThe sandbox failed: ${error instanceof Error ? error.message : String(error)}`);
    if (!config.nodes)
      console.error(`Logs are in ${config.folder}. To start with an empty state: npm run sandbox -- --reset`);
    process.exitCode = 1;
  }
}
// A start that was given up may still wait for something; its servers end with this process.
process.exit();

function configOrExit(): Config {
  try {
    const read = readConfig(process.argv.slice(2), process.env);
    if (!read.help) return read;
    console.log(usage);
    return process.exit(0);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return process.exit(2);
  }
}
