/** Lets a script run beside the unpacked root of an image as in a Pod: own network, processes and mounts, and a read-only root. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "@klutch/engines";

const path = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
const flags = ["--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"];

/** Mounts are pairs of source and place; `--` ends them. */
const prepare = `
set -e
root=$1; shift
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

/** Returns why namespaces cannot be used here; undefined when they can. */
export async function missingForNamespaces(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "only root can start a program in another root";
  return run("unshare", [...flags, "--net", "ip", "link", "set", "lo", "up"], { env: path }).then(
    () => undefined,
    (error: unknown) => `this machine does not allow namespaces: ${String(error)}`,
  );
}

/** Describes the program to a script of `testing/`. */
export interface Pod {
  readonly root: string;
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** User and group that run it. */
  readonly user: string;
}

/** Volumes of a Pod: folders by their place in it. */
export type Volumes = Readonly<Record<string, string>>;

/** Runs the script in this folder in the Pod's network, with the Pod as its argument. Throws what it says when it fails. */
export async function runBeside(script: string, pod: Pod, volumes: Volumes): Promise<void> {
  const own = [process.execPath, join(import.meta.dirname, script), JSON.stringify(pod)];
  const inNetwork = ["/bin/sh", "-c", 'ip link set lo up && exec "$@"', "sh", ...own];
  await run("unshare", ["--net", ...(await argumentsFor(pod, volumes, inNetwork))], { env: path });
}

/** Arguments of `unshare` that start the Pod's program itself, in this machine's network. */
export function podArguments(pod: Pod, volumes: Volumes): Promise<readonly string[]> {
  const { root, user, entrypoint } = pod;
  return argumentsFor(pod, volumes, ["/usr/sbin/chroot", `--userspec=${user}`, root, ...entrypoint]);
}

async function argumentsFor(
  { root }: Pod,
  volumes: Volumes,
  command: readonly string[],
): Promise<readonly string[]> {
  for (const place of ["proc", "dev", "tmp", ...Object.keys(volumes)])
    await mkdir(join(root, place), { recursive: true });
  const mounts = Object.entries(volumes).flatMap(([place, source]) => [source, place]);
  return [...flags, "/bin/sh", "-c", prepare, "sh", root, ...mounts, "--", ...command];
}
