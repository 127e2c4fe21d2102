/** `npm run osb:check`: checks a broker against the specification. Ctrl-C ends it and still deletes what it made; twice ends it at once. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { OsbTransportError, realClock } from "@klutch/osb/internal";
import { readCheckCommand, usage } from "./config.ts";
import { checkBroker } from "./run.ts";
import { exitCodeOf, jsonOf, tableOf } from "./table.ts";

const command = readCheckCommand(process.argv.slice(2), process.env, (path) => readFileSync(path, "utf8"));
switch (command.kind) {
  case "help":
    console.log(usage);
    break;
  case "faults":
    for (const fault of command.faults) console.error(fault);
    console.error("\nnpm run osb:check -- --help prints the flags.");
    process.exitCode = 2;
    break;
  case "check": {
    const { options, json, verbose } = command;
    const stop = new AbortController();
    const hurry = new AbortController();
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(name, () => {
        if (stop.signal.aborted) hurry.abort(new Error("stopped twice"));
        else {
          console.error(`${name}: deleting what was made; once more ends at once`);
          stop.abort(new Error(`stopped by ${name}`));
        }
      });
    }
    try {
      const sources = {
        clock: realClock,
        newId: randomUUID,
        signal: stop.signal,
        hurry: hurry.signal,
        tell: (what: string) => console.error(`… ${what}`),
      };
      const result = await checkBroker(options, sources);
      const { url } = options;
      console.log(json ? jsonOf(result, { url }) : tableOf(result, { url, verbose }).join("\n"));
      process.exitCode = exitCodeOf(result, stop.signal.aborted);
    } catch (error) {
      if (!(error instanceof OsbTransportError)) throw error;
      console.error(error.message);
      process.exitCode = 2;
    }
    break;
  }
}
