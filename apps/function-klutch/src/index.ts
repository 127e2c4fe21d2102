/** The composition function of the data services. */
export { compose } from "./compose.ts";
export { functionProgram } from "./config.ts";
