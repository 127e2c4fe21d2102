/** An API server, the operator as a process, and a tenant's way to its database. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { removeDataHome, type RunningProcess, startProcess } from "@klutch/engines";
import {
  apiVersionOf,
  conditionsOf,
  type DynamicObject,
  events,
  findCondition,
  namespaces,
  type ResourceType,
  secrets,
  secretText,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import {
  installedAccount,
  namespaceObject,
  leaseCluster,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { Client } from "pg";
import { postgresqls, serviceBindings } from "../kinds.ts";
import { operatorManifests } from "../manifests.ts";

const main = join(import.meta.dirname, "..", "main.ts");
const postgresql = { apiGroup: postgresqls.group, kind: "PostgreSQL" } as const;

/** The smallest server. */
export const nano = { version: 15, volumeSize: "3Gi", replicas: 1 } as const;

/** Disposing it stops everything and removes the data. */
export class Fixture implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly folder: string;
  #operator: RunningProcess | undefined;

  private constructor(cluster: TestCluster, folder: string) {
    this.cluster = cluster;
    this.folder = folder;
  }

  /** Starts a cluster with these namespaces and a running operator. */
  static async start(...names: readonly string[]): Promise<Fixture> {
    const cluster = await leaseCluster();
    const fixture = new Fixture(cluster, await mkdtemp(join(tmpdir(), "klutch-a8s-")));
    for (const name of names) await cluster.client.create(namespaces, namespaceObject(name));
    // Nothing that it does needs other rights than those that it is installed with.
    const kubeconfig = await installedAccount(cluster.config, operatorManifests({ image: "none" }));
    await writeFile(join(fixture.folder, "kubeconfig"), kubeconfig, { mode: 0o600 });
    await fixture.startOperator();
    return fixture;
  }

  /** Starts the operator with these additional flags. */
  async startOperator(...flags: readonly string[]): Promise<void> {
    const args = [
      ...flags,
      `--data-folder=${join(this.folder, "data")}`,
      `--kubeconfig=${join(this.folder, "kubeconfig")}`,
      // The flags of its Deployment.
      "--leader-election",
      "--namespace=a8s-system",
    ];
    this.#operator = await startProcess({
      name: "a8s-operator",
      command: process.execPath,
      args: [main, ...args],
      // The next one need not wait for the lease of one that was killed.
      env: { POD_NAME: "operator" },
      logFile: join(this.folder, "operator.log"),
    });
  }

  /** Stops the operator in order. */
  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
  }

  /** Kills the operator, as a crash would. */
  async killOperator(): Promise<void> {
    await this.#operator?.kill();
  }

  create(type: ResourceType, namespace: string, name: string, spec: object): Promise<DynamicObject> {
    const { kind } = type;
    const object = { apiVersion: apiVersionOf(type), kind, metadata: { namespace, name }, spec };
    return this.cluster.client.create<DynamicObject>(type, object);
  }

  createBinding(
    namespace: string,
    name: string,
    instance: { readonly name: string; readonly namespace: string },
  ): Promise<DynamicObject> {
    const { kind } = postgresqls;
    const spec = { instance: { apiVersion: apiVersionOf(postgresqls), kind, ...instance } };
    return this.create(serviceBindings, namespace, name, spec);
  }

  /** A Backup, or with `backupName` a Restore. */
  createJob(
    type: ResourceType,
    namespace: string,
    name: string,
    { instance, ...spec }: { readonly instance: string; readonly backupName?: string },
  ): Promise<DynamicObject> {
    return this.create(type, namespace, name, {
      serviceInstance: { ...postgresql, name: instance },
      ...spec,
    });
  }

  /** Waits until the value at the path of the object is this one. */
  async becomes(
    type: ResourceType,
    ref: { readonly namespace: string; readonly name: string },
    wanted: unknown,
    ...path: readonly string[]
  ): Promise<void> {
    await waitFor(`${path.join(".")} of ${type.kind} ${ref.name} to be ${String(wanted)}`, async () => {
      const object = await this.cluster.client.get<DynamicObject>(type, ref);
      const found = valueAt(object, ...path);
      if (found === wanted) return true;
      throw new Error(JSON.stringify(object.status));
    });
  }

  /** Waits for a `Ready` of this status, and gives back its message. */
  async ready(
    type: ResourceType,
    ref: { readonly namespace: string; readonly name: string },
    status: "True" | "False",
    message: RegExp = /^/,
  ): Promise<void> {
    await waitFor(`${type.kind} ${ref.name} to be ready: ${status}, ${message.source}`, async () => {
      const object = await this.cluster.client.get<DynamicObject>(type, ref);
      const ready = findCondition(conditionsOf(object), "Ready");
      if (ready?.status === status && message.test(ready.message ?? "")) return true;
      throw new Error(JSON.stringify(object.status));
    });
  }

  /** Waits for a Warning about the object. */
  async warned(name: string, message: RegExp): Promise<void> {
    await waitFor(`a Warning about ${name}: ${message.source}`, async () => {
      const { items } = await this.cluster.client.list<DynamicObject>(events);
      const about = items.filter((event) => textAt(event, "involvedObject", "name") === name);
      if (about.some((event) => message.test(String(event["message"])))) return true;
      throw new Error(about.map((event) => String(event["message"])).join("; "));
    });
  }

  async gone(type: ResourceType, ref: { readonly namespace: string; readonly name: string }): Promise<void> {
    const { client } = this.cluster;
    await waitFor(
      `${type.kind} ${ref.name} to be gone`,
      async () => (await client.find(type, ref)) === undefined,
    );
  }

  /** Runs one statement as the binding's tenant; with `port`, a standby answers. */
  async query(
    namespace: string,
    binding: string,
    statement: string,
    { port, tls }: { readonly port?: number; readonly tls?: ConnectionOptions } = {},
  ): Promise<readonly unknown[]> {
    const url = new URL(await this.credential(namespace, binding, "uri"));
    if (port !== undefined) url.port = String(port);
    const client = new Client({ connectionString: url.href, ...(tls === undefined ? {} : { ssl: tls }) });
    client.on("error", () => undefined);
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(statement);
      return rows.map((row) => Object.values(row)[0]);
    } finally {
      await client.end();
    }
  }

  /** Returns the value of a key of the binding's Secret. */
  async credential(namespace: string, binding: string, key: string): Promise<string> {
    const ref = { namespace, name: `${binding}-service-binding` };
    const secret = await this.cluster.client.get<DynamicObject>(secrets, ref);
    return secretText(secret, key) ?? "";
  }

  /** Returns the process of a server: the primary, or the standby of this number. */
  async serverOf(
    namespace: string,
    name: string,
    standby?: number,
  ): Promise<{ readonly pid: number; readonly port: number }> {
    const { metadata } = await this.cluster.client.get<DynamicObject>(postgresqls, { namespace, name });
    const suffix = standby === undefined ? "" : `.standby-${standby}`;
    const home = join(this.folder, "data", "instances", `${metadata.uid}${suffix}`);
    // The server itself writes it: its process, folder, start, port.
    const [pid, , , port] = (await readFile(join(home, "data", "postmaster.pid"), "utf8")).split("\n");
    return { pid: Number(pid), port: Number(port) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator?.stop();
    await this.cluster[Symbol.asyncDispose]();
    // Root's servers, which cannot enter a temporary folder of root, have their data elsewhere.
    const homes = join(this.folder, "data", "instances");
    for (const name of await readdir(homes).catch(() => [])) await removeDataHome(join(homes, name));
    await rm(this.folder, { recursive: true, force: true });
  }
}
