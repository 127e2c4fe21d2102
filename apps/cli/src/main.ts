#!/usr/bin/env node
/** `kubectl-bind` and `klutch`. */
import { constants } from "node:os";
import { systemClock } from "@klutch/kube";
import { openBrowser } from "./browser.ts";
import { CliError } from "./errors.ts";
import { programOf } from "./names.ts";
import { runCli } from "./program.ts";
import { createTerminal } from "./terminal.ts";

const interrupted = new AbortController();
/** Exit code of a process that a signal ended, as shells have it: 128 and its number. */
let endedBy: number | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    endedBy = 128 + constants.signals[signal];
    interrupted.abort(new CliError("Cancelled", "Interrupted."));
  });
}
// A reader of the output, such as head, may have seen enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});
const { name, args } = programOf(process.argv);
using terminal = createTerminal(process);
const exitCode = await runCli(name, args, {
  terminal,
  env: process.env,
  clock: systemClock,
  signal: interrupted.signal,
  openBrowser: (url) => openBrowser(url),
});
process.exitCode = exitCode === 0 ? 0 : (endedBy ?? exitCode);
// A connection to a server that does not answer would keep the process for ten seconds more. What was printed is out before it ends.
if (endedBy !== undefined) process.stdout.write("", () => process.stderr.write("", () => process.exit()));
