/** Real nodes: needs root and control groups. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
import { resolveEngine } from "@klutch/engines";
import { conditionsOf, deployments, type DynamicObject, isTrue, pods, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { pushImage } from "@klutch/oci";
import { type NodeCluster, startNodeClusters } from "./cluster.ts";
import { ownHierarchies, whyUnfit } from "./needs.ts";
import { openNodeNetwork, startNodeRegistry } from "./network.ts";
import { greeting, webImage } from "./testing/images.ts";
import { podThatRuns, services, webDeployment, webService } from "./testing/objects.ts";

const execute = promisify(execFile);
const options = { skip: (await whyUnfit(2)) ?? false };
const released = "registry.klutch.example";

test(
  "Pods run as told, from pulled images, and reach each other, the API and other clusters",
  options,
  async () => {
    await using network = await openNodeNetwork();
    await using registry = await startNodeRegistry(network);
    const registries = { [registry.host]: registry.url, [released]: registry.url };
    const image = await webImage();
    await pushImage(image, { registry: registry.url, repository: "klutch/client", tag: "v1" });
    const [provider, consumer] = await startNodeClusters(["provider", "consumer"], { network, registries });
    assert.ok(provider !== undefined && consumer !== undefined);
    await using _provider = provider;
    await using _consumer = consumer;
    await applyWeb(provider, `${registry.host}/klutch/client:v1`);
    const kubectl = await kubectlOf(provider);

    const page = await outputOf(provider, `${registry.host}/klutch/client:v1`, [
      "wget",
      "-qO-",
      "http://web.default.svc.cluster.local/",
    ]);
    assert.equal(page, greeting);
    const reached = await outputOf(provider, `${released}/klutch/client:v1`, [
      "sh",
      "-c",
      `/bin/busybox nc -w 5 kubernetes.default.svc 443 </dev/null && /bin/busybox nc -w 5 ${consumer.node.address} 6443 </dev/null && echo both`,
    ]);
    assert.equal(reached, "both\n");

    assert.match(await kubectl("logs", "deploy/web"), /10\.244\.0\.\d+.*GET|url:\//);
    assert.match(await kubectl("exec", "deploy/web", "--", "/bin/busybox", "id"), /uid=65532/);
    await assert.rejects(
      kubectl("exec", "deploy/web", "--", "/bin/busybox", "touch", "/x"),
      /Read-only file system/,
    );
  },
);

test("nothing of a cluster is left after its process was killed", options, async () => {
  const script = join(import.meta.dirname, "testing", "abandoned.ts");
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const said: unknown = JSON.parse(String(value));
  const [folder = "", bridge = "", node = ""] = ["folder", "bridge", "node"].map((name) =>
    textAt(said, name),
  );
  await stat(folder);
  child.kill("SIGKILL");
  const links = async (): Promise<string> => (await execute("ip", ["link"])).stdout;
  const groups = (await ownHierarchies()).map((each) => join(each.folder, node));
  await waitFor("everything to be gone", async () => {
    const paths = await Promise.all(
      [folder, ...groups].map((path) =>
        stat(path).then(
          () => path,
          () => undefined,
        ),
      ),
    );
    assert.deepEqual(
      paths.filter((path) => path !== undefined),
      [],
    );
    assert.ok(!(await links()).includes(bridge) && !(await links()).includes(`${node}@`));
    assert.ok(!(await readFile("/proc/self/mountinfo", "utf8")).includes(folder));
    return true;
  });
});

async function kubectlOf({
  folder,
  kubeconfig,
}: NodeCluster): Promise<(...args: readonly string[]) => Promise<string>> {
  const path = join(folder, "admin.kubeconfig");
  await writeFile(path, kubeconfig, { mode: 0o600 });
  const kubectl = await resolveEngine("kubectl");
  return async (...args) => (await execute(kubectl, ["--kubeconfig", path, ...args])).stdout;
}

async function applyWeb({ client }: NodeCluster, image: string): Promise<void> {
  const written = { fieldManager: "test" };
  await client.apply(services, webService, written);
  await client.apply(deployments, webDeployment(image), written);
  await waitFor("the web server to be available", async () => {
    const found = await client.find<DynamicObject>(deployments, { namespace: "default", name: "web" });
    return isTrue(conditionsOf(found), "Available");
  });
}

/** Returns the output of a Pod that runs the program to its end. */
async function outputOf(cluster: NodeCluster, image: string, args: readonly string[]): Promise<string> {
  const { client } = cluster;
  const pod = podThatRuns(image, args);
  const { name = "", namespace = "" } = pod.metadata;
  await waitFor("the Pod to be accepted", () => client.create(pods, pod));
  await waitFor("the Pod to end", async () => {
    const phase = textAt(await client.get<DynamicObject>(pods, { namespace, name }), "status", "phase");
    return phase === "Succeeded" || phase === "Failed";
  });
  const kubectl = await kubectlOf(cluster);
  const output = await kubectl("logs", name);
  await client.delete(pods, { namespace, name });
  return output;
}
