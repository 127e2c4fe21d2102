/** Reads the flags of the operator. */
import { klutchVersion } from "@klutch/api";
import { type Reach, reachFlags, reachOf } from "@klutch/data-servers";
import {
  type ControllersConfig,
  controllersConfig,
  controllersFlags,
  type Program,
  requireFlags,
  text,
} from "@klutch/program";

/** Configures the operator. */
export interface OperatorConfig extends ControllersConfig {
  /** Holds the servers' data and the dumps. One operator works in it. */
  readonly folder: string;
  /** Addresses and ports at which applications reach the servers. */
  readonly reach: Reach;
}

const reach = reachFlags();
const flags = {
  ...controllersFlags({ probes: "127.0.0.1:0", namespace: "a8s-system" }),
  "data-folder": text({
    value: "path",
    help: "Folder of the servers and the backups, of one operator only",
    default: "/var/lib/a8s-operator",
  }),
  ...reach,
};

/** The operator and its flags. */
export const operatorProgram: Program<OperatorConfig> = {
  name: "a8s-operator",
  version: klutchVersion,
  summary: "runs PostgreSQL servers on this machine from the kinds of a8s",
  flags,
  async readConfig(source) {
    const values = requireFlags(flags, source);
    return {
      ...controllersConfig(values, source),
      folder: values["data-folder"],
      reach: await reachOf(reach, values),
    };
  },
};
