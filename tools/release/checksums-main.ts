/**
 * `npm run release:check`: holds every file of a release against its `checksums.txt`, and says which is another, missing, or too many.
 *
 *     npm run release:check -- [FOLDER]
 */
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { checkChecksums } from "./checksums.ts";

try {
  const [folder = join(repositoryRoot, "dist", "release")] = process.argv.slice(2);
  const { size } = await checkChecksums(folder);
  console.log(`${folder}: ${size} files are what their checksums say`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
