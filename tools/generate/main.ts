/** `npm run generate`: writes the generated files that git keeps. `-- --out FOLDER` writes all that can be printed into a folder. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { repositoryRoot } from "../root.ts";
import { generatedFiles, printedFiles } from "./files.ts";

const { out } = parseArgs({ options: { out: { type: "string" } } }).values;
const folder = out === undefined ? repositoryRoot : resolve(out);
for (const [path, content] of out === undefined ? generatedFiles() : printedFiles()) {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
  console.log(path);
}
