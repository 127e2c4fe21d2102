/** An operator that runs PostgreSQL servers from the kinds of a8s. */
export { operatorProgram } from "./config.ts";
export { operatorManifests } from "./manifests.ts";
