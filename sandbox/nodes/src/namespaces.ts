/**
 * Namespaces of a node: mounts, network, processes, host name and cgroups of its own. Everything in them ends with their first process, and
 * that ends with this one; then the shell outside removes the cgroups and the node's folder.
 */
import { namespaceFlags } from "@klutch/engines";
import { ownHierarchies } from "./needs.ts";
import { type Command, startWatchdog } from "./command.ts";
import { home, nodeName } from "./facts.ts";

/** Parts of the machine that a node gets. */
export interface NamespaceOptions {
  /** Names the cgroups, and the interface outside that `connect` makes; it must be free. */
  readonly name: string;
  /** The node sees it as `home`. Removed in the end. */
  readonly folder: string;
  /** A program that only waits for orphans and ends at SIGTERM. */
  readonly pause: string;
  /** Environment in which `ip` is found, and the programs of every Linux. */
  readonly env: Readonly<Record<string, string>>;
}

/** Running namespaces. Disposing ends every process in them, and waits until nothing is left. */
export interface Namespaces extends AsyncDisposable {
  /** A process in all of them, for `ip link add … netns`. */
  readonly pid: number;
  /** Returns the command that runs another one inside, in `home`. */
  readonly enter: (command: Command) => Command;
}

/**
 * Its name is that of the node's interface outside, which a connection that was cut off would keep for minutes. Arguments: folders of
 * cgroups, one a line; folder to remove; then the command.
 */
const outside = `
trap '' PIPE
exec 3<&0
folders=$1 home=$2
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
watchdog=$!
echo "$node"
exec >/dev/null
wait "$node"
code=$?
kill "$watchdog"
ip link delete "$0" 2>/dev/null
for folder in $folders; do
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    find "$folder" -depth -type d -exec rmdir {} ';' 2>/dev/null
    [ -d "$folder" ] || break
    sleep 0.1
  done
done
rm -rf -- "$home"
exit "$code"
`;

/**
 * Arguments: folder of the node, program to become, then option and name of each hierarchy. Files that programs write to fixed paths of the
 * system go into memory, and settings that the kubelet would make for the whole machine are files that lie over the kernel's.
 */
const inside = `
set -eu
hostname ${nodeName}
home=$1
pause=$2
shift 2
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/lock /run/klutch ${home}
# A peer of its own, or every mount of a Pod would appear under both paths.
mount --bind "$home" ${home}
mount --make-private ${home}
mount --make-shared ${home}
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
cd ${home}
exec "$@"
`;

/** Starts them. Throws `EngineError` with the system's words. */
export async function startNamespaces({ name, folder, pause, env }: NamespaceOptions): Promise<Namespaces> {
  const hierarchies = await ownHierarchies();
  const cgroups = hierarchies.map((each) => `${each.folder}/${name}`).join("\n");
  const pairs = hierarchies.flatMap((each) => [each.option, each.name]);
  const first = ["unshare", ...namespaceFlags, "/bin/sh", "-c", inside, name, folder, pause, ...pairs];
  const watchdog = startWatchdog(name, outside, [cgroups, folder, ...first], env);
  try {
    const pid = Number(await watchdog.line());
    await watchdog.line();
    const dispose = (): PromiseLike<void> => watchdog[Symbol.asyncDispose]();
    return { pid, enter: (command) => enter(pid, command), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await watchdog[Symbol.asyncDispose]();
    throw error;
  }
}

/** Enters by the process that started the namespaces: it is in all but that of processes, which it created for its children. */
function enter(pid: number, { command, args, env, shown = [command, ...args].join(" ") }: Command): Command {
  const kinds = { mount: "mnt", net: "net", uts: "uts", cgroup: "cgroup", pid: "pid_for_children" };
  const targets = Object.entries(kinds).map(([flag, file]) => `--${flag}=/proc/${pid}/ns/${file}`);
  const shell = ["/bin/sh", "-c", entered, "node"];
  return { command: "nsenter", args: [...targets, ...shell, command, ...args], env, shown };
}
