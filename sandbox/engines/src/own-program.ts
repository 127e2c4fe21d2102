/** Finds Klutch's own programs by name, so that nothing else has to know which folder they live in. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Returns the path of a program's `main.ts`, such as that of `konnector`. Throws when no workspace package has the name. */
export function ownProgram(name: string): string {
  return join(dirname(fileURLToPath(import.meta.resolve(`@klutch/${name}`))), "main.ts");
}
