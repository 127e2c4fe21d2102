/** Configuration of containerd 1.6 (version 2 of its file), of its networks and of registries. */
import { ranges } from "../layout.ts";

/** What containerd has to know. */
export interface ContainerdSettings {
  readonly root: string;
  readonly registries: string;
  readonly cniConfig: string;
  readonly cniPlugins: string;
  readonly runc: string;
  readonly pauseImage: string;
}

/**
 * Prints the file. Without the right to lower an OOM score below one's own (CAP_SYS_RESOURCE), which a container's root often lacks, runc
 * could not start anything unless containerd keeps its hands off; so it does.
 */
export function containerdToml(settings: ContainerdSettings): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const unused = [
    "internal.v1.opt",
    "tracing.processor.v1.otlp",
    "snapshotter.v1.btrfs",
    "snapshotter.v1.zfs",
  ];
  return [
    "version = 2",
    `root = ${quoted(settings.root)}`,
    "oom_score = 0",
    `disabled_plugins = [${unused.map((name) => quoted(`io.containerd.${name}`)).join(", ")}]`,
    `[${cri}]`,
    `sandbox_image = ${quoted(settings.pauseImage)}`,
    "restrict_oom_score_adj = true",
    `[${cri}.cni]`,
    `bin_dir = ${quoted(settings.cniPlugins)}`,
    `conf_dir = ${quoted(settings.cniConfig)}`,
    `[${cri}.containerd]`,
    'snapshotter = "overlayfs"',
    "discard_unpacked_layers = true",
    `[${cri}.containerd.runtimes.runc]`,
    'runtime_type = "io.containerd.runc.v2"',
    `[${cri}.containerd.runtimes.runc.options]`,
    `BinaryName = ${quoted(settings.runc)}`,
    "SystemdCgroup = false",
    `[${cri}.registry]`,
    `config_path = ${quoted(settings.registries)}`,
    "",
  ].join("\n");
}

/** A basic string of TOML has the same escapes as one of JSON. */
const quoted = (text: string): string => JSON.stringify(text);

/** One bridge for all Pods of the node; addresses are given out in memory. Masquerading is a rule of the node (`masqueradeRules`). */
export const cniConflist: string = JSON.stringify({
  cniVersion: "1.0.0",
  name: "klutch",
  plugins: [
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      hairpinMode: true,
      ipam: {
        type: "host-local",
        dataDir: "/run/cni-addresses",
        ranges: [[{ subnet: ranges.pods }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
});

/** For `nft`: what a Pod sends to other machines has the node's address, because nobody there knows the way to a Pod. */
export const masqueradeRules: string = `table ip klutch {
  chain leaving {
    type nat hook postrouting priority srcnat;
    ip saddr ${ranges.pods} oifname "eth0" masquerade
  }
}
`;

/** `hosts.toml`: pull what is named after a registry from this URL, which may speak HTTP. */
export function hostsToml(url: string): string {
  return [`server = ${quoted(url)}`, `[host.${quoted(url)}]`, 'capabilities = ["pull", "resolve"]', ""].join(
    "\n",
  );
}
