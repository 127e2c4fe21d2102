#!/usr/bin/env node
/** `kubectl-bind` and `klutch`. */
import { systemClock } from "@klutch/kube";
import { openBrowser } from "./browser.ts";
import { CliError } from "./errors.ts";
import { programOf } from "./names.ts";
import { runCli } from "./program.ts";
import { createTerminal } from "./terminal.ts";

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => interrupted.abort(new CliError("Cancelled", "Interrupted.")));
}
const { name, args } = programOf(process.argv);
using terminal = createTerminal(process);
process.exitCode = await runCli(name, args, {
  terminal,
  env: process.env,
  clock: systemClock,
  signal: interrupted.signal,
  openBrowser: (url) => openBrowser(url),
});
