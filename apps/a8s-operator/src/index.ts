/** An operator that runs PostgreSQL servers from the kinds of a8s. */
export { operatorManifests } from "./manifests.ts";
