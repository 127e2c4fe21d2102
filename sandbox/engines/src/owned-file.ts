/** Files of servers that root starts as another user. */
import { chown, writeFile } from "node:fs/promises";
import { unprivileged } from "./unprivileged.ts";

/** Writes a file of the user that servers run as, for nobody else. */
export async function writeOwned(path: string, content: string): Promise<void> {
  await writeFile(path, content, { mode: 0o600 });
  if (unprivileged !== undefined) await chown(path, unprivileged.uid, unprivileged.gid);
}
