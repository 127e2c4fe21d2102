import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterFiles } from "../layout.ts";
import { containerdToml, hostsToml } from "./containerd.ts";
import { kubeletConfiguration } from "./kubelet.ts";
import { apiServerArguments } from "./servers.ts";

const files = clusterFiles("/tmp/one");

test("containerd is told to leave OOM scores alone, and a path cannot end its text", () => {
  const toml = containerdToml({
    root: '/tmp/"quoted"',
    registries: "/tmp/one/registries",
    cniConfig: "/tmp/one/cni",
    cniPlugins: "/plugins",
    runc: "/bin/runc",
    pauseImage: "localhost/pause:1",
  });
  assert.ok(toml.includes('root = "/tmp/\\"quoted\\""\n'));
  assert.match(toml, /^restrict_oom_score_adj = true$/m);
  assert.match(toml, /^SystemdCgroup = false$/m);
});

test("a registry's file names its URL and nothing that could be written to", () => {
  assert.equal(
    hostsToml("http://10.213.0.1:20000"),
    'server = "http://10.213.0.1:20000"\n[host."http://10.213.0.1:20000"]\ncapabilities = ["pull", "resolve"]\n',
  );
});

test("the kubelet asks the API server about everybody, and does not answer to strangers", () => {
  assert.partialDeepStrictEqual(kubeletConfiguration(files), {
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
    authorization: { mode: "Webhook" },
    oomScoreAdj: 0,
    resolvConf: "",
  });
});

test("the API server confines nodes to their own objects, and more arguments come last", () => {
  const args = apiServerArguments(files, {
    address: "10.213.0.2",
    etcd: "unix://etcd.sock",
    more: ["--v=2"],
  });
  assert.ok(args.includes("--authorization-mode=Node,RBAC"));
  assert.ok(args.includes("--enable-admission-plugins=NodeRestriction"));
  assert.ok(args.includes("--kubelet-certificate-authority=/tmp/one/pki/ca.crt"));
  assert.equal(args.at(-1), "--v=2");
});
