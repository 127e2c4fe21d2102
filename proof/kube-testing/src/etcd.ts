/**
 * etcd without a port: it and its API server meet at a socket in the cluster's folder, which only their user may enter. A port on
 * loopback is open to every user of the machine and to web pages, and etcd has no other lock than certificates.
 */
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { resolveEngine, type RunningProcess, startProcess } from "@klutch/engines";

const clientSocket = "etcd.sock";
const peerSocket = "etcd-peer.sock";
/** There are no other members that could look for this one, but etcd insists on addresses with a port. */
const nowhere = "http://localhost:0";
/** Addresses of sockets end after 104 bytes on macOS and 108 on Linux. */
const longestAddress = 100;

/** The `--etcd-servers` of an API server that runs in the cluster's folder; without the folder, because its path may be too long. */
export const etcdAddress: string = `unix://${clientSocket}`;

/** Options of `startEtcd`. */
export interface EtcdOptions {
  /** Waits for the disk. */
  readonly fsync: boolean;
  /** Added to its environment. Default: nothing. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Starts etcd with its data in `<folder>/etcd`; ready means healthy. The folder must be closed for other users. */
export async function startEtcd(
  name: string,
  folder: string,
  { fsync, env }: EtcdOptions,
): Promise<RunningProcess> {
  return startProcess({
    name: `${name} etcd`,
    command: await resolveEngine("etcd"),
    args: etcdArguments(fsync),
    env,
    cwd: folder,
    logFile: join(folder, "etcd.log"),
    ready: async () => (await askEtcd(folder, "/health")) !== "",
  });
}

/** Returns the arguments of an etcd that runs in its folder. Without `fsync` it does not wait for the disk. */
export function etcdArguments(fsync: boolean): readonly string[] {
  return [
    "--data-dir=etcd",
    `--listen-client-urls=${etcdAddress}`,
    `--listen-peer-urls=unix://${peerSocket}`,
    `--advertise-client-urls=${nowhere}`,
    `--initial-advertise-peer-urls=${nowhere}`,
    `--initial-cluster=default=${nowhere}`,
    "--log-level=warn",
    ...(fsync ? [] : ["--unsafe-no-fsync"]),
  ];
}

/** Asks etcd's JSON gateway: POST with a body, else GET. Gives back the answer's text; throws unless it is 200. */
export async function askEtcd(folder: string, path: string, body?: object): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const socketPath = await shortPath(stack, folder);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const method = body === undefined ? "GET" : "POST";
  request({ socketPath, path, method, agent: false }, (response) => {
    text(response).then((answer) => {
      if (response.statusCode === 200) resolve(answer);
      else reject(new Error(`etcd answered ${response.statusCode}: ${answer}`));
    }, reject);
  })
    .on("error", reject)
    .end(body === undefined ? undefined : JSON.stringify(body));
  return await promise;
}

/** The client socket's path, through a link when the folder's own is too long. */
async function shortPath(stack: AsyncDisposableStack, folder: string): Promise<string> {
  const path = join(folder, clientSocket);
  if (Buffer.byteLength(path) <= longestAddress) return path;
  const links = await mkdtemp(join(tmpdir(), "klutch-etcd-"));
  stack.defer(() => rm(links, { recursive: true, force: true }));
  await symlink(folder, join(links, "cluster"));
  return join(links, "cluster", clientSocket);
}
