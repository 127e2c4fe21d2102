/** Flags and environment of the sandbox. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type OnDemandService, onDemandServices, readOnDemandServices } from "@klutch/engines";
import { type Generation, generations, legacy } from "@klutch/services";

/** Text of `--help`. */
export const usage: string = `npm run sandbox -- [options]: run Klutch and everything that it needs as processes on this machine
  --no-demo        start everything without the demo
  --reset          delete the kept state first
  --nodes          run everything in Pods of real clusters, installed by docs/install.md; needs root, and keeps no state
  --namespaced     also offer the claims that are namespaced composites of Crossplane 2
  --services <list> also offer these services, whose servers start with their instances: ${onDemandServices.join(", ")}
  --exit           end after the demo
  --issuer <url>   log people in at this OpenID Connect provider instead of a Dex of the sandbox; its client is klutch-backend, and
                   OIDC_CLIENT_SECRET holds the secret
  --dir <folder>   folder for the state (default: $KLUTCH_STATE_DIR, else klutch/sandbox in the user's state folder)
  --help           print this help`;

/** Configuration of the sandbox. */
export interface Config {
  /** Folder of the state that is kept between starts. */
  readonly folder: string;
  readonly reset: boolean;
  readonly demo: boolean;
  /** True to run everything in Pods of real nodes, which keep no state. */
  readonly nodes: boolean;
  /** Generations of claims to offer. */
  readonly generations: readonly Generation[];
  /** Services to offer besides those that every sandbox has. */
  readonly services: readonly OnDemandService[];
  /** The identity provider to use; undefined for a Dex of the sandbox. */
  readonly issuer: { readonly url: string; readonly clientSecret: string } | undefined;
  /** End after the demo instead of staying up. */
  readonly exit: boolean;
  /** Say how to use it instead. */
  readonly help: boolean;
}

const flag = { type: "boolean", default: false } as const;
const options = {
  dir: { type: "string" },
  issuer: { type: "string" },
  services: { type: "string" },
  reset: flag,
  namespaced: flag,
  nodes: flag,
  "no-demo": flag,
  exit: flag,
  help: { ...flag, short: "h" },
} as const;

/** Reads the command line and the environment. Throws with a message for people. */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv): Config {
  const { values } = parseArgs({ args: [...args], options });
  const { reset, nodes, exit, help } = values;
  for (const name of ["dir", "issuer", "services", "reset", "namespaced"] as const)
    if (nodes && values[name] !== undefined && values[name] !== false)
      throw new Error(
        `--${name} does not go with --nodes, which keeps nothing and installs what docs/install.md says`,
      );
  // Set to nothing counts as not set.
  const valueOf = (name: string): string | undefined => (env[name] === "" ? undefined : env[name]);
  const stateHome = valueOf("XDG_STATE_HOME") ?? join(homedir(), ".local", "state");
  const folder = resolve(values.dir ?? valueOf("KLUTCH_STATE_DIR") ?? join(stateHome, "klutch", "sandbox"));
  if (`${homedir()}/`.startsWith(folder.endsWith("/") ? folder : `${folder}/`))
    throw new Error(`${folder} is no folder for a sandbox, because --reset would empty it`);
  const offered = values.namespaced ? generations : [legacy];
  const issuer =
    values.issuer === undefined
      ? undefined
      : { url: values.issuer, clientSecret: valueOf("OIDC_CLIENT_SECRET") ?? "" };
  if (issuer?.clientSecret === "")
    throw new Error(
      `--issuer ${issuer.url} needs the secret of its client klutch-backend in OIDC_CLIENT_SECRET`,
    );
  const services = servicesIn(values.services ?? "");
  const demo = !values["no-demo"];
  return { folder, reset, demo, nodes, generations: offered, services, issuer, exit, help };
}

function servicesIn(list: string): readonly OnDemandService[] {
  try {
    return readOnDemandServices(list);
  } catch (cause) {
    throw new Error(`--services ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
