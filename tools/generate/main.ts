/** `npm run generate`: writes every generated file. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { generatedFiles } from "./files.ts";

for (const [path, content] of generatedFiles()) {
  const absolute = join(repositoryRoot, path);
  await mkdir(dirname(absolute), { recursive: true });
  await writeFile(absolute, content);
  console.log(path);
}
