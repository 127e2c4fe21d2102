/** Flags of the console. */
import { type Flag, optionalText, toggle, type ValuesOf } from "@klutch/program";
import { sessionLifetime } from "./config-values.ts";
import { type Assets, readAssets } from "./console/assets.ts";

/** The flags by name. */
export const consoleFlags: {
  readonly "console-assets": Flag<string | undefined>;
  readonly "console-session-lifetime": Flag<number | undefined>;
  readonly "console-actions": Flag<boolean>;
} = {
  "console-assets": optionalText({
    help: "Folder with the pages of the console, which are then served at /console/ beside --oidc-callback-url. Default: no console",
  }),
  "console-session-lifetime": sessionLifetime({
    help: "Lifetime of the sessions of the console: 1m to 24h, or off for no console",
    default: "8h",
  }),
  "console-actions": toggle({
    help: "Let people revoke in the console what the control plane's RBAC lets them delete. Default: the console only reads",
  }),
};

/** Settings of the console. */
interface ConsoleConfig {
  readonly consoleAssets: Assets | undefined;
  readonly consoleSeconds: number | undefined;
  readonly consoleActs: boolean;
}

/** Reads the pages. Adds their faults to `faults`. */
export async function consoleOf(
  values: ValuesOf<typeof consoleFlags>,
  servesLogin: boolean,
  faults: string[],
): Promise<ConsoleConfig> {
  const { "console-assets": folder, "console-session-lifetime": consoleSeconds } = values;
  const consoleActs = values["console-actions"];
  const none = { consoleAssets: undefined, consoleSeconds, consoleActs };
  if (folder === undefined || folder === "") {
    if (consoleActs) faults.push("--console-actions=true needs a console: set --console-assets");
    return none;
  }
  if (!servesLogin) {
    faults.push("--console-assets needs a login: set the --oidc flags");
    return none;
  }
  try {
    return { consoleAssets: await readAssets(folder), consoleSeconds, consoleActs };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    faults.push(`--console-assets: ${folder} holds no pages of the console: ${why}`);
    return none;
  }
}
