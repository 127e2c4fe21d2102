/** Lets a script run beside the unpacked root of an image as in a Pod: own network, processes and mounts, and a root that nobody can write to. */
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const path = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
const flags = ["--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"];

/** Mounts are pairs of source and place; `--` ends them. */
const prepare = `
set -e
root=$1; shift
ip link set lo up
mount --bind "$root" "$root"
cd /
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
while [ "$1" != -- ]; do mount --bind "$1" "$root/$2"; shift 2; done
shift
mount -o remount,bind,ro "$root"
exec "$@"
`;

/** Why it cannot be done here; undefined when it can. */
export async function missingForNamespaces(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "only root can start a program in another root";
  return run("unshare", [...flags, "ip", "link", "set", "lo", "up"], { env: path }).then(
    () => undefined,
    (error: unknown) => `this machine does not allow namespaces: ${String(error)}`,
  );
}

/** What a script of `testing/` is told of the program. */
export interface Pod {
  readonly root: string;
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Who runs it: user and group. */
  readonly user: string;
}

/** Runs the script in this folder with the Pod as its argument; `volumes` are folders by their place in the Pod. Throws what it says when it fails. */
export async function runBeside(
  script: string,
  pod: Pod,
  volumes: Readonly<Record<string, string>>,
): Promise<string> {
  for (const place of ["proc", "dev", "tmp", ...Object.keys(volumes)])
    await mkdir(join(pod.root, place), { recursive: true });
  const mounts = Object.entries(volumes).flatMap(([place, source]) => [source, place]);
  const command = [process.execPath, join(import.meta.dirname, script), JSON.stringify(pod)];
  const args = [...flags, "/bin/sh", "-c", prepare, "sh", pod.root, ...mounts, "--", ...command];
  const { stdout } = await run("unshare", args, { env: path });
  return stdout;
}
