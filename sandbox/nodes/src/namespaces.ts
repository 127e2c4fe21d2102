/**
 * Namespaces of a node: mounts, network, processes, host name and cgroups of its own. Everything in them ends with their first process, and
 * that ends with this one; then the shell outside removes the cgroups and, if it was temporary, the node's folder.
 */
import { ownHierarchies } from "./cgroups.ts";
import type { Command } from "./command.ts";
import { startLeashed } from "./leash.ts";

/** What they are made of. */
export interface NamespaceOptions {
  /** Of the cgroups, and of the interface outside that `connect` makes; nobody else may have one of that name. */
  readonly name: string;
  readonly hostname: string;
  /** Removed in the end. Default: nothing is. */
  readonly temporaryFolder?: string | undefined;
  /** A program that does nothing but wait for orphans and end at SIGTERM. */
  readonly pause: string;
  /** In which `ip` is found, and the programs of every Linux. */
  readonly env: Readonly<Record<string, string>>;
}

/** Namespaces that are there. Disposing ends every process in them, and waits until nothing is left. */
export interface Namespaces extends AsyncDisposable {
  /** A process in all of them, for `ip link add … netns`. */
  readonly pid: number;
  /** Resolves when they have ended. */
  readonly exited: Promise<number>;
  /** The command that runs another one inside, in `folder`. */
  enter(command: Command, folder?: string): Command;
}

/**
 * Its name is that of the node's interface outside, which a connection that was cut off would keep for minutes. Arguments: folders of
 * cgroups, one a line; folder to remove; then the command.
 */
const outside = `
trap '' PIPE
exec 3<&0
folders=$1 temporary=$2
shift 2
ip link delete "$0" 2>/dev/null
IFS='
'
for folder in $folders; do
  mkdir -p "$folder" || exit 1
  for file in cpuset.cpus cpuset.mems; do
    [ ! -e "$folder/$file" ] || cat "$folder/../$file" > "$folder/$file"
  done
done
{
  for folder in $folders; do echo 0 > "$folder/cgroup.procs" || exit 1; done
  exec "$@" 3<&-
} &
node=$!
{
  read -r _ <&3
  kill -KILL "$node"
} >/dev/null &
leash=$!
echo "$node"
exec >/dev/null
wait "$node"
code=$?
kill "$leash"
ip link delete "$0" 2>/dev/null
for folder in $folders; do
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    find "$folder" -depth -type d -exec rmdir {} ';' 2>/dev/null
    [ -d "$folder" ] || break
    sleep 0.1
  done
done
[ -z "$temporary" ] || rm -rf -- "$temporary"
exit "$code"
`;

/**
 * Arguments: host name, program to become, then option and name of each hierarchy. What programs write to fixed places of the system goes
 * into memory, and what the kubelet would set for the whole machine is set in files that lie over the kernel's.
 */
const inside = `
set -eu
hostname "$1"
pause=$2
shift 2
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/lock /run/klutch
for place in lib log; do
  own=/run/klutch/$place
  mkdir "$own" "$own.work"
  mount -t overlay -o "lowerdir=/var/$place,upperdir=$own,workdir=$own.work" overlay "/var/$place"
done
umount -R /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
while [ $# -gt 0 ]; do
  folder=/sys/fs/cgroup/$2
  mkdir "$folder"
  mount -t cgroup -o "$1" cgroup "$folder"
  mkdir "$folder/runtime"
  for file in cpuset.cpus cpuset.mems; do
    [ ! -e "$folder/$file" ] || cat "$folder/$file" > "$folder/runtime/$file"
  done
  echo 0 > "$folder/runtime/cgroup.procs"
  shift 2
done
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \\
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  path=/proc/sys/\${setting%=*}
  file=/run/klutch/\${path##*/}
  echo "\${setting#*=}" > "$file"
  [ ! -e "$path" ] || mount --bind "$file" "$path"
done
echo 1 > /proc/sys/net/ipv4/ip_forward
ip link set lo up
echo ready
exec "$pause" > /dev/null
`;

const entered = `
for file in /sys/fs/cgroup/*/runtime/cgroup.procs; do echo 0 > "$file"; done
cd "$1"
shift
exec "$@"
`;

/** For `unshare`. */
export const namespaceFlags: readonly string[] = [
  "--mount",
  "--propagation=private",
  "--net",
  "--pid",
  "--uts",
  "--cgroup",
  "--fork",
  "--kill-child",
  "--mount-proc",
];

/** Makes them. Throws `NodeError` with the system's words. */
export async function startNamespaces(options: NamespaceOptions): Promise<Namespaces> {
  const { name, hostname, pause, temporaryFolder = "", env } = options;
  const hierarchies = await ownHierarchies();
  const folders = hierarchies.map(({ folder }) => `${folder}/${name}`);
  const first = ["unshare", ...namespaceFlags, "/bin/sh", "-c", inside, name, hostname, pause];
  const pairs = hierarchies.flatMap((each) => [each.option, each.name]);
  const args = [folders.join("\n"), temporaryFolder, ...first, ...pairs];
  const leashed = startLeashed(name, outside, args, env);
  try {
    const pid = Number(await leashed.line());
    await leashed.line();
    return {
      pid,
      exited: leashed.exited,
      enter: (command, folder) => entering(pid, command, folder),
      [Symbol.asyncDispose]: () => leashed[Symbol.asyncDispose](),
    };
  } catch (error) {
    await leashed[Symbol.asyncDispose]();
    throw error;
  }
}

/** The process that made the namespaces is in all of them but the one of processes, which it made for its children. */
function entering(pid: number, inner: Command, folder = "/"): Command {
  const { command, args, env, shown = [command, ...args].join(" ") } = inner;
  const kinds = { mount: "mnt", net: "net", uts: "uts", cgroup: "cgroup", pid: "pid_for_children" };
  const targets = Object.entries(kinds).map(([flag, file]) => `--${flag}=/proc/${pid}/ns/${file}`);
  const shell = ["/bin/sh", "-c", entered, "node", folder];
  return { command: "nsenter", args: [...targets, ...shell, command, ...args], env, shown };
}
