/** The programs that real nodes need from Debian, and the environment in which they find each other. */
import { glob } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type DebianOptions, resolveDebian } from "./debian.ts";
import { inheritedEnvironment } from "./environment.ts";

/** Containerd, runc, CNI plugins, and what sets up a node's network. */
export interface NodePrograms {
  /** Version of containerd: `1.6.20`. */
  readonly version: string;
  /** Path of a program, such as `containerd` or `nft`. Throws `RangeError` for one that is not among them. */
  readonly path: (program: string) => string;
  /** Folder of the CNI plugins. */
  readonly pluginFolder: string;
  /** Environment of everything on a node: kubelet, kube-proxy, containerd and the CNI plugins run programs by their names. */
  readonly env: Readonly<Record<string, string>>;
}

/** Returns installed programs, else those in the cache, else those that apt has. Nothing is installed. Throws `EngineError` PackageMissing. */
export async function resolveNodePrograms(options: DebianOptions = {}): Promise<NodePrograms> {
  const { version, root, env, path } = await resolveDebian("node-programs", options);
  // Links that the system makes in `bin` may lead out of `root`; the real programs come first.
  const folders = ["usr/bin", "usr/sbin"].map((folder) => join(root, folder));
  const search = [...folders, inheritedEnvironment["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin"];
  // Iptables looks for its extensions where it was meant to be installed.
  const [extensions] = root === "/" ? [] : await Array.fromAsync(glob("usr/lib/*/xtables", { cwd: root }));
  const found = extensions === undefined ? {} : { XTABLES_LIBDIR: join(root, extensions) };
  return {
    version,
    path,
    pluginFolder: dirname(path("bridge")),
    env: { ...env, PATH: search.join(":"), ...found },
  };
}
