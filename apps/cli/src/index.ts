/** `kubectl-bind` and `klutch`, for embedding: the sandbox runs them in its own process. */
export { openBrowser } from "./browser.ts";
export type { CliContext, Terminal } from "./context.ts";
export { CliError, type CliErrorCode } from "./errors.ts";
export type { CommandDescription } from "./command-tree.ts";
export { commandTree, runCli } from "./program.ts";
export { createTerminal } from "./terminal.ts";
