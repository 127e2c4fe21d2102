/** Makes one file of JavaScript of an app: it starts faster and needs about 40 MiB less than the sources, which Node strips of types itself. */
import { ownProgram } from "@klutch/engines";
import { serviceTables } from "@klutch/services";
import { build, type Plugin } from "esbuild";
import { repositoryRoot } from "../root.ts";
import { leanPackages, requiredBuiltins } from "./lean.ts";

/** Apps that are shipped. */
export const bundledApps: readonly string[] =
  "konnector backend provider-anynines function-klutch broker a8s-operator".split(" ");

/** Puts the tables of services into bundles, which have no folder to read them from. */
const tablesInside: Plugin = {
  name: "tables",
  setup: (building) => {
    building.onLoad({ filter: /[/\\]services[/\\]src[/\\]shipped-tables\.ts$/ }, () => ({
      contents: `const tables = ${JSON.stringify(serviceTables())};\nexport const shippedTables = () => tables;`,
    }));
  },
};

/** Packages of the CommonJS kind call `require`, which a module does not have by itself. The name is not used elsewhere. */
const banner =
  'import { createRequire as bannerRequire } from "node:module"; const require = bannerRequire(import.meta.url);';

/** Writes the bundle of an app and gives back the files that are in it, below the root. Throws with esbuild's messages when it does not build. */
export async function bundleApp(app: string, outfile: string): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: repositoryRoot,
    metafile: true,
    entryPoints: [ownProgram(app)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    minifyWhitespace: true,
    minifySyntax: true,
    banner: { js: banner },
    // A release has the licences beside it. Here one letter beyond ASCII would make V8 keep the whole text with two bytes a letter.
    legalComments: "none",
    // Leaves undici's second HTTP parser out, which is for trying: Node's own build of undici sets it, too.
    define: { esbuildDetection: "true" },
    logLevel: "error",
    plugins: [tablesInside, leanPackages, requiredBuiltins],
  });
  return Object.keys(metafile.inputs);
}
