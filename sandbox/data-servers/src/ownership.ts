/** Files of servers, which root starts as another user: that user gets what it needs and nothing else. */
import { chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { unprivileged } from "@klutch/engines";

/** Returns undefined when the file does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
}

/** Makes a folder of the server's user, closed to others. */
export async function makeServerFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (unprivileged !== undefined) await chown(path, unprivileged.uid, unprivileged.gid);
}

/** Writes a file that only the server's user may read; it is whole or does not exist. */
export async function writeForServer(path: string, content: string): Promise<void> {
  await writeOwn(path, content, unprivileged);
}

/** Writes a file that only its owner may read; it is whole or does not exist. The owner defaults to this process's user. */
export async function writeOwn(path: string, content: string, owner?: typeof unprivileged): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await writeFile(partial, content, { mode: 0o600, flag: "wx", flush: true });
  if (owner !== undefined) await chown(partial, owner.uid, owner.gid);
  await rename(partial, path);
}
