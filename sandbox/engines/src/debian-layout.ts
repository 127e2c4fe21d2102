/** Makes of unpacked packages what installing them would have made of the system. */
import { mkdir, readdir, rename, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";

/** In a system these are links into `usr`; some packages still name them. */
const merged = ["bin", "sbin"];

/** Moves programs to where the system would show them, and makes `links`: targets by path below `root`. */
export async function arrange(root: string, links: Readonly<Record<string, string>>): Promise<void> {
  for (const folder of merged) {
    const names = await readdir(join(root, folder)).catch(() => []);
    await mkdir(join(root, "usr", folder), { recursive: true });
    for (const name of names) await rename(join(root, folder, name), join(root, "usr", folder, name));
  }
  for (const [path, target] of Object.entries(links)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await symlink(target, join(root, path));
  }
}
