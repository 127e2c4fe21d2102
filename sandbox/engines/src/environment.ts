/** The environment variables of this package. */
import { homedir } from "node:os";
import { join } from "node:path";

const env = process.env;

/** Set to nothing counts as not set. */
const valueOf = (name: string): string | undefined => (env[name] === "" ? undefined : env[name]);

/** Folder that keeps obtained servers between runs: `KLUTCH_CACHE_DIR`, else `klutch` in the user's cache folder. */
export const cacheFolder: string =
  valueOf("KLUTCH_CACHE_DIR") ?? join(valueOf("XDG_CACHE_HOME") ?? join(homedir(), ".cache"), "klutch");

/** Base URL of prebuilt servers instead of the one in `sandbox/engines/pins/prebuilt.json`, which pins their checksums; `off` builds all. Default: none. */
export const mirrorUrl: string | undefined = valueOf("KLUTCH_ENGINES_URL");

/** Environment that child processes inherit. */
export const inheritedEnvironment: Readonly<Record<string, string | undefined>> = env;
