/** A copy of the working tree in a temporary folder, in which files can be changed and tests run. */
import { spawnSync } from "node:child_process";
import { constants } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";

/** Removes itself when it is disposed, with everything that its tests have left. */
export interface TreeCopy extends AsyncDisposable {
  readonly folder: string;
  /** The temporary folder of its tests, which leave files when they are killed. */
  readonly temporary: string;
}

/** Copies the files, links installed packages, and lets the copy's own packages find each other rather than the checkout's. */
export async function copyTree(files: readonly string[]): Promise<TreeCopy> {
  // A short name, because the paths of sockets are short.
  const top = await mkdtemp(join(await realpath(tmpdir()), "klutch-m-"));
  const [folder, temporary] = [join(top, "tree"), join(top, "t")];
  const remove = (): Promise<void> => rm(top, { recursive: true, force: true, maxRetries: 10 });
  try {
    await mkdir(temporary);
    // Runs of tests tell each other there which ports they have; a link is removed without what it leads to.
    const ports = `klutch-ports-${process.getuid?.() ?? "user"}`;
    await mkdir(join(tmpdir(), ports), { recursive: true });
    await symlink(join(tmpdir(), ports), join(temporary, ports));
    // Database servers run as another user.
    await chmod(top, 0o755);
    for (const file of files)
      await cp(join(repositoryRoot, file), join(folder, file), { mode: constants.COPYFILE_FICLONE });
    await linkPackages(folder);
    // Some tests ask git for the files of the tree.
    spawnSync("git", ["init", "--quiet"], { cwd: folder });
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, temporary, [Symbol.asyncDispose]: remove };
}

async function linkPackages(folder: string): Promise<void> {
  const [from, to] = [join(repositoryRoot, "node_modules"), join(folder, "node_modules")];
  await mkdir(to);
  for (const name of await readdir(from)) {
    // Its links are relative (`../../packages/sync`), so a copy of them leads into the copy.
    if (name === "@klutch")
      await cp(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true });
    // Caches of earlier runs stay as they are.
    else if (name !== ".cache") await symlink(join(from, name), join(to, name));
  }
}
