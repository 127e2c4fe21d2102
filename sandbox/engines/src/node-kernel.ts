/** What the running kernel can do, by what it says of its own build and of its modules. */
import { readFile } from "node:fs/promises";
import { release } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** What nodes need of a kernel; undefined where the kernel does not say. */
export interface KernelFeatures {
  readonly veth: boolean | undefined;
  readonly bridge: boolean | undefined;
  readonly nftables: boolean | undefined;
  readonly iptables: boolean | undefined;
}

/** What is readable of a kernel. */
export interface KernelSources {
  /** Its configuration: lines such as `CONFIG_VETH=m`. */
  readonly config: string | undefined;
  /** Lists of its modules, loaded ones and those on the disk. */
  readonly modules: string | undefined;
}

const wanted = {
  veth: { option: "CONFIG_VETH", module: "veth" },
  bridge: { option: "CONFIG_BRIDGE", module: "bridge" },
  nftables: { option: "CONFIG_NF_TABLES", module: "nf_tables" },
  iptables: { option: "CONFIG_IP_NF_IPTABLES", module: "ip_tables" },
} as const;

/** A module need not be loaded: the kernel loads what is asked of it. A configuration counts more than lists, which a container may lack. */
export function kernelFeatures({ config, modules }: KernelSources): KernelFeatures {
  const has = (name: keyof typeof wanted): boolean | undefined => {
    const { option, module } = wanted[name];
    if (config !== undefined) return new RegExp(`^${option}=[ym]$`, "m").test(config);
    if (modules === undefined) return undefined;
    return new RegExp(`^(?:\\S*/)?${module}(?:\\.ko|\\s)`, "m").test(modules);
  };
  return { veth: has("veth"), bridge: has("bridge"), nftables: has("nftables"), iptables: has("iptables") };
}

/** Of the running kernel. `root` is `/`, but for tests. */
export async function readKernelFeatures(root: string): Promise<KernelFeatures> {
  const read = async (...path: readonly string[]): Promise<Buffer | undefined> =>
    readFile(join(root, ...path)).catch(() => undefined);
  const ofModules = join("lib/modules", release());
  const packed = await read("proc/config.gz");
  const config =
    (packed === undefined ? undefined : gunzipSync(packed)) ??
    (await read("boot", `config-${release()}`)) ??
    (await read(ofModules, "config"));
  // Only those of the disk are all that there are.
  const built = await read(ofModules, "modules.builtin");
  const lists = [built, await read(ofModules, "modules.dep"), await read("proc/modules")];
  const modules = built === undefined ? undefined : lists.map((list) => list?.toString() ?? "").join("\n");
  return kernelFeatures({ config: config?.toString(), modules });
}
