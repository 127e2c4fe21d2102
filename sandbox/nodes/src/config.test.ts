import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parseYaml } from "@klutch/kube";
import { listAt } from "@klutch/kube-core";
import { etcdAddress } from "@klutch/kube-testing";
import { apiPort, clusterDomain, configFolder, home, kubeletClientUser, nodeName, images } from "./facts.ts";
import { hostsToml } from "./prepare.ts";

const read = (name: string): Promise<string> => readFile(join(configFolder, name), "utf8");

test("containerd is told to leave OOM scores alone", async () => {
  const toml = await read("containerd.toml");
  assert.match(toml, /^restrict_oom_score_adj = true$/m);
  assert.match(toml, /^SystemdCgroup = false$/m);
});

test("a registry's file names its URL and nothing that could be written to", () => {
  assert.equal(
    hostsToml("http://10.213.0.1:20000"),
    'server = "http://10.213.0.1:20000"\n[host."http://10.213.0.1:20000"]\ncapabilities = ["pull", "resolve"]\n',
  );
});

test("the kubelet asks the API server about everybody, and does not answer to strangers", async () => {
  assert.partialDeepStrictEqual(parseYaml(await read("kubelet.yaml")), {
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
    authorization: { mode: "Webhook" },
    oomScoreAdj: 0,
    resolvConf: "",
  });
});

test("the API server confines nodes to their own objects", async () => {
  const args = listAt(parseYaml(await read("servers.yaml")), "kube-apiserver");
  assert.ok(args.includes("--authorization-mode=Node,RBAC"));
  assert.ok(args.includes("--enable-admission-plugins=NodeRestriction"));
  assert.ok(args.includes(`--kubelet-certificate-authority=${home}/pki/ca.crt`));
  assert.ok(args.includes(`--etcd-servers=${etcdAddress}`) && args.includes(`--secure-port=${apiPort}`));
});

test("the files of the configuration and the code name the same paths, names and images", async () => {
  const [toml, kubelet, proxy, objects] = await Promise.all(
    ["containerd.toml", "kubelet.yaml", "kube-proxy.yaml", "system-objects.yaml"].map(read),
  );
  for (const text of [toml, kubelet, proxy]) assert.ok(text?.includes(`${home}/`));
  assert.ok(toml?.includes(`"${images.repository}/pause:${images.tag}"`));
  assert.ok(objects?.includes(`image: ${images.repository}/coredns:${images.tag}\n`));
  assert.ok(objects?.includes(`kubernetes ${clusterDomain} `) && kubelet?.includes(`: ${clusterDomain}\n`));
  assert.ok(objects?.includes(`name: ${kubeletClientUser} }`));
  assert.ok(proxy?.includes(`hostnameOverride: ${nodeName}\n`));
});
