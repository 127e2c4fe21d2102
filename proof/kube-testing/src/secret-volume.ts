/** A folder that changes as the kubelet's volume of a Secret does, without a kubelet. */
import { mkdir, mkdtemp, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Writes all files of the volume in `folder` at once: into a new folder beside them, to which the link `..data` is then turned. The names that
 * programs open are links through `..data` (`AtomicWriter` in kubernetes/kubernetes).
 */
export async function writeSecretVolume(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const data = await mkdtemp(join(folder, "..version_"));
  for (const [name, content] of Object.entries(files)) await writeFile(join(data, name), content);
  const link = join(folder, "..data");
  const before = await readlink(link).catch(() => undefined);
  await symlink(data, `${link}_tmp`);
  await rename(`${link}_tmp`, link);
  for (const name of Object.keys(files)) {
    if (before === undefined) await symlink(join("..data", name), join(folder, name));
  }
  if (before !== undefined) await rm(before, { recursive: true });
}
