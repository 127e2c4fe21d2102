/** Borrows clusters from the pool that the test command runs. */
import { once } from "node:events";
import { mkdtempDisposable, symlink } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  accessAsAdministrator,
  type ControllerManager,
  startCluster,
  startControllerManager,
  type TestCluster,
} from "../cluster.ts";
import { chosenKubernetes, poolSocket } from "../environment.ts";
import { askEtcd } from "../etcd.ts";
import { type Lease, returned } from "./pool.ts";

/** Options of `leaseCluster`. */
export interface LeaseOptions {
  /** Name in messages and log files. Default `cluster`. */
  readonly name?: string | undefined;
  /** As for `startCluster`, while it is leased. Default false. */
  readonly controllerManager?: ControllerManager | undefined;
  /** True for an app cluster, whose version of Kubernetes may be another (`KLUTCH_KUBERNETES`). Default false. */
  readonly appCluster?: boolean | undefined;
  /** Socket of the pool. Default: that of the test command. */
  readonly socket?: string | undefined;
}

/**
 * Takes a cluster that is as good as new and exclusive until it is disposed. Outside of the test command, which runs the pool,
 * it starts one. Programs that a test starts against the cluster must have ended before the cluster is disposed.
 */
export async function leaseCluster(options: LeaseOptions = {}): Promise<TestCluster> {
  const { name = "cluster", controllerManager = false, socket: path = poolSocket } = options;
  const { controlPlane, appCluster } = chosenKubernetes();
  const kubernetes = options.appCluster === true ? appCluster : controlPlane;
  // The pool's clusters are all of one version.
  if (path === undefined || kubernetes !== controlPlane)
    return startCluster({ name, controllerManager, kubernetes });
  await using stack = new AsyncDisposableStack();
  const socket = connect(path);
  // A test that fails does not get to its end; the connection must not keep its process alive, and the pool then drops the cluster.
  socket.unref();
  socket.on("error", () => undefined);
  stack.defer(() => void socket.destroy());
  const lease = await nextLease(socket);
  socket.resume();
  stack.defer(async () => {
    if (socket.destroyed) return;
    socket.ref().end(returned);
    await once(socket, "close");
  });
  const { path: dataDir } = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-cluster-")));
  for (const file of ["certs", "service-account.key"])
    await symlink(join(lease.dataDir, file), join(dataDir, file));
  const access = await accessAsAdministrator(stack, name, lease.server, dataDir, lease.adminToken);
  if (controllerManager !== false) {
    const manager = await startControllerManager({ name, dataDir, controllerManager }, access.config);
    stack.defer(() => manager.kill());
  }
  return Object.assign(stack.move(), access, {
    askEtcd: (path: string, body?: object) => askEtcd(lease.dataDir, path, body),
  });
}

async function nextLease(socket: ReturnType<typeof connect>): Promise<Lease> {
  socket.ref();
  try {
    for await (const line of createInterface({ input: socket })) {
      const lease = JSON.parse(line) as Lease & { readonly error?: string };
      if (lease.error !== undefined) throw new Error(`the pool of clusters has none: ${lease.error}`);
      return lease;
    }
    throw new Error("the pool of clusters ended before it had one");
  } finally {
    socket.unref();
  }
}
