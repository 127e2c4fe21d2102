/** `npm run docs:site`: writes the pages as a web site into dist/site. Ends with 1, and writes nothing, when a link leads nowhere. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openTree } from "../checks/tree.ts";
import { repositoryRoot } from "../root.ts";
import { buildSite } from "./site.ts";

const { files, problems } = buildSite(openTree());
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
} else {
  const folder = join(repositoryRoot, "dist", "site");
  await rm(folder, { recursive: true, force: true });
  for (const [place, text] of files) {
    await mkdir(dirname(join(folder, place)), { recursive: true });
    await writeFile(join(folder, place), text);
  }
  console.log(`${files.size} files in ${folder}; begin with index.html`);
}
