#!/usr/bin/env node
/** `kubectl-bind` and `klutch`. */
import { basename } from "node:path";
import { systemClock } from "@klutch/kube";
import { openBrowser } from "./browser.ts";
import { CliError } from "./errors.ts";
import { runCli } from "./program.ts";
import { createTerminal } from "./terminal.ts";

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => interrupted.abort(new CliError("Cancelled", "Interrupted.")));
}
const name = basename(process.argv[1] ?? "");
using terminal = createTerminal(process);
process.exitCode = await runCli(
  name.startsWith("klutch") ? "klutch" : "kubectl-bind",
  process.argv.slice(2),
  {
    terminal,
    env: process.env,
    clock: systemClock,
    signal: interrupted.signal,
    openBrowser: (url) => openBrowser(url),
  },
);
