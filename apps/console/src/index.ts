export { buildConsole } from "./bundle.ts";
