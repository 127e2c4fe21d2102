/** Backups of servers that keep their data in files: a compressed tar of a copy, whose checksum finds damage. */
import { constants, copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { runProgram } from "@klutch/data-servers";
import { unprivileged } from "@klutch/engines";
import type { Dump } from "./driver.ts";

/** Folder in that of an instance, while a dump is made. */
const copyFolder = "dump";
const env = { PATH: "/usr/bin:/bin" };

/** Packs the files that `copy` puts into an empty folder in `home`. The next call removes what a killed broker left of it. */
export async function pack(
  home: string,
  copy: (folder: string) => Promise<void>,
  to: Writable,
  signal: AbortSignal,
): Promise<void> {
  const folder = join(home, copyFolder);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  try {
    await copy(folder);
    await runProgram({ program: "tar", args: ["--create", "--gzip", "."], cwd: folder, env, signal }, { to });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Unpacks a dump into a folder of the server, as its user. Throws when the dump is damaged; the folder then holds a part of it. */
export async function unpack(folder: string, { open, signal }: Dump): Promise<void> {
  const unpacking = {
    program: "tar",
    args: ["--extract", "--gzip"],
    cwd: folder,
    env,
    signal,
    ...unprivileged,
  };
  await runProgram(unpacking, { from: open() }).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new Error(`the backup cannot be unpacked: ${String(cause)}`, { cause });
  });
}

/** Copies a folder that changes meanwhile. Files that vanish are left out; each copy is whole if the server replaces files and never writes in them. */
export async function copyChanging(from: string, to: string, leftOut: string): Promise<void> {
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true }).catch(ifVanished([]))) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.name === leftOut) continue;
    if (entry.isDirectory()) await copyChanging(source, target, leftOut);
    else await copyFile(source, target, constants.COPYFILE_FICLONE).catch(ifVanished(undefined));
  }
}

function ifVanished<T>(otherwise: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return otherwise;
    throw error;
  };
}
