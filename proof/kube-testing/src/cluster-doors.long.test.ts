/** Tests that a cluster is closed to other users except through its API server. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { reservePorts, resolveEngine, startProcess } from "@klutch/engines";
import { startCluster } from "./cluster.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-doors-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Ports at which a process listens. */
async function listeningPorts(pid: number): Promise<readonly number[]> {
  const files = await readdir(`/proc/${pid}/fd`);
  const links = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => "")));
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8")));
  return tables
    .flatMap((table) => table.trim().split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === "0A" && links.includes(`socket:[${columns[9]}]`))
    .map((columns) => Number.parseInt(columns[1]?.split(":")[1] ?? "", 16));
}

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

const onLinux = { skip: process.platform === "linux" ? false : "needs /proc" };

test(
  "etcd listens at no port, neither for clients nor for peers nor for metrics, so no web page and no other user reaches it",
  onLinux,
  async () => {
    await using cluster = await startCluster({ name: "closed" });
    assert.deepEqual(await listeningPorts(cluster.etcd.pid), []);
    assert.equal((await listeningPorts(cluster.apiServer.pid)).length, 1);
  },
);

test("a cluster's sockets, keys, token and data are closed to all users but its own", async () => {
  await using cluster = await startCluster({ name: "modes", dataDir: join(folder, "modes") });
  assert.equal(await modeOf(cluster.dataDir), "700");
  assert.equal(await modeOf(join(cluster.dataDir, "etcd")), "700");
  for (const name of ["admin-token.csv", "service-account.key", join("certs", "apiserver.key")])
    assert.equal(await modeOf(join(cluster.dataDir, name)), "600", name);
  if (process.getuid?.() !== 0) return;
  await chmod(folder, 0o755);
  const asNobody = (script: string): string =>
    spawnSync(process.execPath, ["-e", script], { uid: 65_534, gid: 65_534, encoding: "utf8" }).stdout;
  const sockets = (await readdir(cluster.dataDir)).filter((name) => name.endsWith(".sock"));
  assert.equal(sockets.length, 2);
  for (const name of sockets)
    assert.equal(
      asNobody(
        `require("net").connect(${JSON.stringify(join(cluster.dataDir, name))}).on("error", (e) => console.log(e.code)).on("connect", () => console.log("connected"))`,
      ).trim(),
      "EACCES",
    );
});

test("a cluster of an older version, open and with ports of etcd, starts closed and with its data", async () => {
  const dataDir = join(folder, "older");
  await mkdir(dataDir, { mode: 0o755 });
  {
    await using reserved = await reservePorts(2);
    const [client, peer] = reserved.ports.map((port) => `http://127.0.0.1:${port}`);
    await using _etcd = await startProcess({
      name: "older etcd",
      command: await resolveEngine("etcd"),
      args: [
        `--data-dir=${join(dataDir, "etcd")}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
      ],
      logFile: join(dataDir, "older.log"),
      ready: async () => (await fetch(`${client}/health`)).ok,
    });
    const put = { key: Buffer.from("kept").toString("base64"), value: "" };
    assert.ok((await fetch(`${client}/v3/kv/put`, { method: "POST", body: JSON.stringify(put) })).ok);
  }
  await using cluster = await startCluster({ name: "older", dataDir });
  assert.equal(await modeOf(dataDir), "700");
  const answer = await cluster.askEtcd("/v3/kv/range", { key: Buffer.from("kept").toString("base64") });
  assert.match(answer, /"count":"1"/);
  await cluster.restart("etcd");
  await cluster.kill("etcd");
  await cluster.restart("etcd");
});

test("a cluster's folder may have a longer path than a socket's address can hold", async () => {
  const dataDir = join(folder, "deep".repeat(20), "er".repeat(30));
  await using cluster = await startCluster({ name: "deep", dataDir });
  assert.ok(dataDir.length > 120);
  await cluster.restart("etcd");
});
