/** `npm run build`: the bundles of all shipped apps, the pages of the console and the commands for people, in `dist/`. `-- <app> <file>` writes one bundle somewhere else. */
import { join, relative } from "node:path";
import { buildConsole } from "@klutch/console";
import { repositoryRoot } from "../root.ts";
import { bundleApp, bundledApps } from "./bundle.ts";
import { buildCommands } from "./commands.ts";

const dist = join(repositoryRoot, "dist");
const [app, file] = process.argv.slice(2);
if (app !== undefined && file !== undefined) await bundleApp(app, file);
else {
  for (const name of bundledApps) {
    await bundleApp(name, join(dist, `${name}.mjs`));
    console.log(`dist/${name}.mjs`);
  }
  await buildConsole(join(dist, "console"));
  console.log("dist/console");
  for (const path of await buildCommands(join(dist, "bin"))) console.log(relative(repositoryRoot, path));
}
