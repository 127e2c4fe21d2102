/** Files of servers: root's broker runs them as another user, who gets what it needs and nothing else. */
import { chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { unprivileged } from "@klutch/engines";

/** Gives a file or folder to the user that servers run as. */
async function give(path: string): Promise<void> {
  if (unprivileged !== undefined) await chown(path, unprivileged.uid, unprivileged.gid);
}

/** Undefined when the file is not there. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
}

/** A folder of the server's own, closed to others. */
export async function makeServerFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await give(path);
}

/** A file that the server may read, and nobody else; it is whole or not there. */
export async function writeForServer(path: string, content: string): Promise<void> {
  await writeAtomically(path, content, give);
}

/** A file of the broker's own; it is whole or not there. */
export async function writeOwn(path: string, content: string): Promise<void> {
  await writeAtomically(path, content, async () => undefined);
}

async function writeAtomically(
  path: string,
  content: string,
  prepare: (path: string) => Promise<void>,
): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await writeFile(partial, content, { mode: 0o600, flag: "wx", flush: true });
  await prepare(partial);
  await rename(partial, path);
}
