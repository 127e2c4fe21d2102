/** Tries what a node does first, in namespaces that end with the trial. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const namespaces = ["--mount", "--propagation", "private", "--net", "--pid", "--uts", "--cgroup"];
const ending = ["--fork", "--kill-child", "--mount-proc"];

/** Arguments: a name that no other trial has, then the cgroup hierarchies. Prints one line for each thing: name, tab, the words of its failure. */
const script = `
try() {
  name=$1; shift
  if words=$("$@" 2>&1); then words=; else words=$(echo "\${words:-it failed}" | tr '\\n\\t' '  '); fi
  printf '%s\\t%s\\n' "$name" "$words"
}
own=$1; shift
in_cgroup() { mount -t cgroup -o "$1" cgroup cgroup && mkdir "cgroup/$own" && rmdir "cgroup/$own"; }
try namespaces true
try overlay mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged
for hierarchy in "$@"; do
  try "cgroup $hierarchy" in_cgroup "$hierarchy"
  umount cgroup 2>/dev/null
done
if command -v ip >/dev/null; then
  try veth ip link add klutch-a type veth peer name klutch-b
  try bridge ip link add klutch-c type bridge
fi
if command -v nft >/dev/null; then try nftables nft add table inet klutch; fi
`;

/**
 * Tries everything in a folder of its own below `folder`, as root. Returns the words of each failure by what was tried (`namespaces`,
 * `overlay`, `cgroup <hierarchy>`, `veth`, `bridge`, `nftables`): no words if it works, and no entry if it could not be tried.
 */
export async function runTrial(
  folder: string,
  hierarchies: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<ReadonlyMap<string, string>> {
  const place = await mkdtemp(join(folder, ".klutch-trial-"));
  try {
    for (const name of ["lower", "upper", "work", "merged", "cgroup"]) await mkdir(join(place, name));
    const args = [...namespaces, ...ending, "/bin/sh", "-c", script, "sh", basename(place), ...hierarchies];
    const { stdout } = await run("unshare", args, { cwd: place, env });
    const lines = [...stdout.matchAll(/^(.+)\t(.*)$/gm)];
    return new Map(lines.map(([, name = "", words = ""]) => [name, words.trim()]));
  } catch (error) {
    const words = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    return new Map([["namespaces", words === "" ? "unshare failed" : words]]);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}
