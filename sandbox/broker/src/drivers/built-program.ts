/** Programs of servers that are built in the home of the person, which the servers' user may not enter. */
import { randomUUID } from "node:crypto";
import { copyFile, mkdir, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Returns the path of a copy that the server's user can run: it cannot enter a closed home, where the program may lie. All instances share it. */
export async function serverProgram(program: string, home: string): Promise<string> {
  const folder = join(dirname(home), "programs");
  const path = join(folder, basename(dirname(program)));
  if ((await stat(path).catch(() => undefined)) !== undefined) return path;
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const partial = `${path}.${randomUUID()}`;
  await copyFile(program, partial);
  await rename(partial, path);
  return path;
}
