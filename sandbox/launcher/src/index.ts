/** The whole of Klutch as local processes. */
export type { CliFiles } from "./cli-files.ts";
export { bindApi, typed } from "./demo/person.ts";
export { blocksIn, type PageBlock } from "./page.ts";
export { dataHomes } from "./state.ts";
