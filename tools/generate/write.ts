/** Writing of generated files. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { repositoryRoot } from "../root.ts";

/** Writes one file, by its path from the root, and says so. */
export async function writeGenerated(path: string, content: string): Promise<void> {
  const absolute = join(repositoryRoot, path);
  await mkdir(dirname(absolute), { recursive: true });
  await writeFile(absolute, content);
  console.log(path);
}
