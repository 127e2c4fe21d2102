/** Disks that are soon full. */
import { mkdir } from "node:fs/promises";
import type { TestContext } from "node:test";
import { run } from "@klutch/engines";

/** Makes `folder` a disk of this size, such as `48k`, until the test ends. Undefined for whom is not root; the test is skipped then. */
export async function smallDisk(t: TestContext, folder: string, size: string): Promise<string | undefined> {
  await mkdir(folder);
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]);
  } catch {
    t.skip("only root can mount a small disk");
    return undefined;
  }
  t.after(() => run("umount", [folder]));
  return folder;
}
