/** Reads the flags of the operator. */
import { klutchVersion } from "@klutch/api";
import { type Reach, reachFlags, reachOf } from "@klutch/data-servers";
import * as flag from "@klutch/program";

/** Configures the operator. */
export interface OperatorConfig extends flag.ControllersConfig {
  /** Holds the servers' data and the dumps. One operator works in it. */
  readonly folder: string;
  /** Addresses and ports at which applications reach the servers. */
  readonly reach: Reach;
}

const reach = reachFlags();
const flags = {
  ...flag.controllersFlags({ probes: "127.0.0.1:0", namespace: "a8s-system" }),
  "data-folder": flag.text({
    value: "path",
    help: "Folder of the servers and the backups, of one operator only",
    default: "/var/lib/a8s-operator",
  }),
  ...reach,
};

/** The operator and its flags. */
export const operatorProgram: flag.Program<OperatorConfig> = {
  name: "a8s-operator",
  version: klutchVersion,
  summary: "runs PostgreSQL servers on this machine from the kinds of a8s",
  flags,
  async readConfig(source) {
    const values = flag.requireFlags(flags, source);
    const own = { folder: values["data-folder"], reach: await reachOf(reach, values) };
    return { ...flag.controllersConfig(values, source), ...own };
  },
};
