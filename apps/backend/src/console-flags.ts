/** Flags of the console. */
import { type Flag, optionalText, type ValuesOf } from "@klutch/program";
import { sessionLifetime } from "./config-values.ts";
import { type Assets, readAssets } from "./console/assets.ts";

/** The flags by name. */
export const consoleFlags: {
  readonly "console-assets": Flag<string | undefined>;
  readonly "console-session-lifetime": Flag<number | undefined>;
} = {
  "console-assets": optionalText({
    help: "Folder with the pages of the console, which are then served at /console/ beside --oidc-callback-url. Default: no console",
  }),
  "console-session-lifetime": sessionLifetime({
    help: "Lifetime of the sessions of the console: 1m to 24h, or off for no console",
    default: "8h",
  }),
};

/** Reads the pages. Adds their faults to `faults`. */
export async function consoleOf(
  values: ValuesOf<typeof consoleFlags>,
  servesLogin: boolean,
  faults: string[],
): Promise<{ readonly consoleAssets: Assets | undefined; readonly consoleSeconds: number | undefined }> {
  const { "console-assets": folder, "console-session-lifetime": consoleSeconds } = values;
  const none = { consoleAssets: undefined, consoleSeconds };
  if (folder === undefined || folder === "") return none;
  if (!servesLogin) {
    faults.push("--console-assets needs a login: set the --oidc flags");
    return none;
  }
  try {
    return { consoleAssets: await readAssets(folder), consoleSeconds };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    faults.push(`--console-assets: ${folder} holds no pages of the console: ${why}`);
    return none;
  }
}
