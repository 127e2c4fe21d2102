/** The programs that real nodes need from Debian, and the environment in which they find each other. */
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type DebianOptions, resolveDebian } from "./debian.ts";
import { inheritedEnvironment } from "./environment.ts";
import { exists } from "./paths.ts";

/** Containerd, runc, CNI plugins, and what sets up a node's network. */
export interface NodePrograms {
  /** Of containerd: `1.6.20`. */
  readonly version: string;
  /** Path of a program, such as `containerd` or `nft`. Throws `RangeError` for one that is not among them. */
  readonly path: (program: string) => string;
  /** Folder of the CNI plugins. */
  readonly pluginFolder: string;
  /** For all that a node runs: kubelet, kube-proxy, containerd and the CNI plugins run programs by their names. */
  readonly env: Readonly<Record<string, string>>;
}

/** Installed programs, else those in the cache, else those that apt has. Nothing is installed. Throws `EngineError` PackageMissing. */
export async function resolveNodePrograms(options: DebianOptions = {}): Promise<NodePrograms> {
  const programs = await resolveDebian("node-programs", options);
  const { version, root, env } = programs;
  // What the system links from `bin` to a program of another folder may lead out of `root`; the real ones come first.
  const folders = ["usr/bin", "usr/sbin"].map((folder) => join(root, folder));
  const search = [...folders, inheritedEnvironment["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin"];
  const extensions = root === "/" ? undefined : await extensionsIn(join(root, "usr/lib"));
  return {
    version,
    path: (program) => programs.path(program),
    pluginFolder: dirname(programs.path("bridge")),
    env: {
      ...env,
      PATH: search.join(":"),
      ...(extensions === undefined ? {} : { XTABLES_LIBDIR: extensions }),
    },
  };
}

/** Folder of iptables' extensions, which it looks for where it was meant to be installed. */
async function extensionsIn(libraries: string): Promise<string | undefined> {
  for (const name of await readdir(libraries)) {
    const folder = join(libraries, name, "xtables");
    if (await exists(folder)) return folder;
  }
  return undefined;
}
