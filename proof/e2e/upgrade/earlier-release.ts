/**
 * Programs of an earlier state of this tree, built from its history. No release came before this one, so a commit that is some hundreds of
 * commits older stands for the one before.
 */
import { mkdir, mkdtempDisposable, readdir, readFile, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "@klutch/engines";
import { decodeObject, parseYaml } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";

/** The commit before the namespaced kinds, backups of all services and rotation. */
export const earlierCommit = "b0657c309011044b1f77770d533f693fc729701a";

/** Holds the programs and definitions of the earlier release. */
export interface EarlierRelease extends AsyncDisposable {
  /** Files of the programs. */
  readonly konnector: string;
  readonly backend: string;
  /** Its definitions of the bind kinds. */
  readonly crds: readonly KubeObject[];
}

const root = join(import.meta.dirname, "..", "..", "..");

/** Returns the reason why it cannot be built here; undefined when it can. */
export async function missingHistory(): Promise<string | undefined> {
  try {
    await run("git", ["cat-file", "-e", `${earlierCommit}^{commit}`], { cwd: root });
    return undefined;
  } catch {
    return `the history does not reach back to ${earlierCommit.slice(0, 7)}: fetch it whole (git fetch --unshallow)`;
  }
}

/** Builds it in a folder of its own, which goes with it. */
export async function buildEarlierRelease(): Promise<EarlierRelease> {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-earlier-")));
  const archive = join(folder, "tree.tar");
  await run("git", ["archive", "--format=tar", `--output=${archive}`, earlierCommit], { cwd: root });
  const tree = join(folder, "tree");
  await mkdir(tree);
  await run("tar", ["-xf", archive, "-C", tree]);
  await linkModules(tree);
  const build = async (app: string): Promise<string> => {
    const file = join(folder, `${app}.mjs`);
    await run(process.execPath, [join(tree, "tools", "build", "main.ts"), app, file], { cwd: tree });
    return file;
  };
  const [konnector, backend] = await Promise.all([build("konnector"), build("backend")]);
  const crds = await readCrds(join(tree, "deploy", "crds"));
  return Object.assign(stack.move(), { konnector, backend, crds });
}

/** Links third-party packages to those of this tree, and Klutch's own packages to those of the earlier tree. */
async function linkModules(tree: string): Promise<void> {
  const [here, there] = [join(root, "node_modules"), join(tree, "node_modules")];
  await mkdir(join(there, "@klutch"), { recursive: true });
  for (const name of await readdir(here))
    if (name !== "@klutch") await symlink(join(here, name), join(there, name));
  for (const folder of ["packages", "apps"])
    for (const name of await readdir(join(tree, folder)))
      await symlink(join(tree, folder, name), join(there, "@klutch", name));
  await symlink(join(tree, "services"), join(there, "@klutch", "services"));
}

async function readCrds(folder: string): Promise<readonly KubeObject[]> {
  const files = (await readdir(folder)).filter((file) => file.includes("klutch.anynines.com"));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return texts.map((text) => decodeObject<KubeObject>(parseYaml(text), "a definition"));
}
