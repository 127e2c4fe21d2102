/** The whole of Klutch as local processes. */
export type { CliFiles } from "./context.ts";
export { bindApis, blocksIn, boundApiName, type PageBlock, typed } from "./demo/person.ts";
export { type Page, ScriptedBrowser } from "./demo/scripted-browser.ts";
export { clusterNamespaceOf } from "./objects.ts";
export { dataHomes } from "./state.ts";
export { oidcClientId, sandboxColleague, sandboxUser } from "./services/dex.ts";
export { logOfEnd } from "./supervise.ts";
