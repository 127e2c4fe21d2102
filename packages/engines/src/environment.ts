/** The environment variables of this package. */
import { homedir } from "node:os";
import { join } from "node:path";

const env = process.env;

/** Where obtained servers are kept between runs: `KLUTCH_CACHE_DIR`, else `klutch` in the user's cache folder. */
export const cacheFolder: string =
  env["KLUTCH_CACHE_DIR"] ?? join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "klutch");

/** Base URL of a mirror of prebuilt servers; their checksums are pinned in `engines/prebuilt.json`. Default: none. */
export const mirrorUrl: string | undefined = env["KLUTCH_ENGINES_URL"];

/** What child processes inherit. */
export const inheritedEnvironment: Readonly<Record<string, string | undefined>> = env;
