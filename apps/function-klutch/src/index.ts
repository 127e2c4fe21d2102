/** The composition function of the data services. */
export { compose } from "./compose.ts";
