/** The whole of Klutch as local processes. */
export type { CliFiles } from "./cli-files.ts";
export { readConfig, type SandboxConfig } from "./config.ts";
export { bindApi, playPerson } from "./demo/bind.ts";
export { type CodeBlock, codeIn } from "./page/code.ts";
export { typed } from "./page/typed.ts";
export { runSandbox } from "./sandbox.ts";
export { dataHomes } from "./state.ts";
