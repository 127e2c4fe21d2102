/** Flags, help, configuration and process of the programs that run next to API servers. */
export { controllersConfig, type ControllersConfig, controllersFlags } from "./controllers-config.ts";
export {
  type Address,
  address,
  duration,
  type Flag,
  FlagFault,
  type FlagTable,
  type FlagWords,
  ignored,
  oneOf,
  optional,
  optionalText,
  port,
  text,
  toggle,
  type ValuesOf,
  wholeNumber,
} from "./flag.ts";
export { helpText, type ProgramDescription, titleOfFlag } from "./help.ts";
export { collectGarbage } from "./memory.ts";
export { kubeconfigFlag, ownCluster } from "./own-cluster.ts";
export { ConfigError, type FlagSource, readFlags, requireFlags } from "./read-flags.ts";
export { type ConfigSource, type Program, runProcess } from "./run-process.ts";
export { identityFlag, probesFlag } from "./shared-flags.ts";
