/** Tries what a node does first, in namespaces that end with the trial. */
import { execFile } from "node:child_process";
import { mkdir, readFile, statfs } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** How one thing went: `ok`, the system's words, or undefined when there was nothing to try it with. */
export type Outcome = "ok" | { readonly words: string } | undefined;

/** What came of a trial. */
export interface NodeTrial {
  readonly namespaces: Outcome;
  /** Over the folder where the nodes' images will be. */
  readonly overlay: Outcome;
  readonly cgroupVersion: 1 | 2;
  /** Controllers that are needed and in no hierarchy. */
  readonly missingControllers: readonly string[];
  /** Whether cgroups can be made, by controllers of the hierarchy; of version 2 there is one. */
  readonly cgroups: ReadonlyMap<string, Outcome>;
  readonly veth: Outcome;
  readonly bridge: Outcome;
  readonly nftables: Outcome;
}

/** CGROUP2_SUPER_MAGIC of linux/magic.h. */
const cgroup2Magic = 0x63_67_72_70;
const controllersOf1 = ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"];
const controllersOf2 = ["cpu", "cpuset", "memory", "pids"];

const namespaces = ["--mount", "--propagation", "private", "--net", "--pid", "--uts", "--cgroup"];
const ending = ["--fork", "--kill-child", "--mount-proc"];

/** Arguments: a name that nobody else has, then type and option of each cgroup hierarchy. Says one line for each thing: name, tab, words. */
const script = `
try() {
  name=$1; shift
  if words=$("$@" 2>&1); then words=ok; else words="failed $(echo "$words" | tr '\\n\\t' '  ')"; fi
  printf '%s\\t%s\\n' "$name" "$words"
}
own=$1; shift
in_cgroup() { mount -t "$1" -o "$2" "$1" cgroup && mkdir "cgroup/$own" && rmdir "cgroup/$own"; }
echo 'namespaces	ok'
try overlay mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged
while [ $# -gt 0 ]; do
  try "cgroup $2" in_cgroup "$1" "$2"
  umount cgroup 2>/dev/null
  shift 2
done
if command -v ip >/dev/null; then
  try veth ip link add klutch-a type veth peer name klutch-b
  try bridge ip link add klutch-c type bridge
fi
if command -v nft >/dev/null; then try nftables nft add table inet klutch; fi
`;

/** Tries everything in `place`, an empty folder, as root. */
export async function runTrial(
  place: string,
  options: {
    readonly env?: Readonly<Record<string, string | undefined>> | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<NodeTrial> {
  for (const name of ["lower", "upper", "work", "merged", "cgroup"]) await mkdir(join(place, name));
  const found = await hierarchies();
  const pairs = found.mounts.flatMap((option) => [found.version === 1 ? "cgroup" : "cgroup2", option]);
  const args = [...namespaces, ...ending, "/bin/sh", "-c", script, "sh", basename(place), ...pairs];
  const said = await run("unshare", args, { cwd: place, ...options }).catch((error: unknown) => {
    options.signal?.throwIfAborted();
    return failed(error);
  });
  const outcomes = outcomesIn(said.stdout);
  const needed = found.version === 1 ? controllersOf1 : controllersOf2;
  return {
    namespaces: outcomes.get("namespaces") ?? { words: said.stderr.trim() || "unshare failed" },
    overlay: outcomes.get("overlay"),
    cgroupVersion: found.version,
    missingControllers: needed.filter((name) => !found.controllers.includes(name)),
    cgroups: new Map(found.mounts.map((option) => [option, outcomes.get(`cgroup ${option}`)])),
    veth: outcomes.get("veth"),
    bridge: outcomes.get("bridge"),
    nftables: outcomes.get("nftables"),
  };
}

/** What the script said, by name. */
function outcomesIn(said: string): ReadonlyMap<string, Outcome> {
  const lines = said.split("\n").flatMap((line) => {
    const [name, words] = line.split("\t");
    return name === undefined || words === undefined ? [] : [{ name, words }];
  });
  return new Map(
    lines.map(({ name, words }) => [
      name,
      words === "ok" ? "ok" : { words: words.replace(/^failed /, "").trim() },
    ]),
  );
}

/** What a program said before it failed. */
function failed(error: unknown): { readonly stdout: string; readonly stderr: string } {
  const stdout = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
  const stderr = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
  return { stdout, stderr: stderr || String(error) };
}

interface Hierarchies {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  /** Option with which each is mounted. */
  readonly mounts: readonly string[];
}

/** Those that this process is in (cgroups(7)). */
async function hierarchies(): Promise<Hierarchies> {
  const root = "/sys/fs/cgroup";
  const type = await statfs(root).then(
    (found) => found.type,
    () => undefined,
  );
  if (type === cgroup2Magic) {
    const text = await readFile(join(root, "cgroup.controllers"), "utf8").catch(() => "");
    return { version: 2, controllers: text.trim().split(" "), mounts: ["rw"] };
  }
  const text = await readFile("/proc/self/cgroup", "utf8").catch(() => "");
  const mounts = [...text.matchAll(/^\d+:([^:=]+):/gm)].map(([, names = ""]) => names);
  return { version: 1, controllers: mounts.flatMap((names) => names.split(",")), mounts };
}
