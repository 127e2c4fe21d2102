/** RabbitMQ: each instance is a virtual host in one server, which runs while there are instances, and each binding a user. */
import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import * as dataServers from "@klutch/data-servers";
import { type DebianPrograms, type ReservedPorts, reservePorts } from "@klutch/engines";
import { planOf } from "../catalog.ts";
import { adminPasswordOf, loginOf, namesOf, userOf } from "../names.ts";
import type { Binding, Instance } from "../store.ts";
import type { Credentials, Driver, DriverKind, Place, ServerSpec } from "./driver.ts";
import { OwnServer } from "./own-server.ts";
import type { OwnServersOptions } from "./own-servers.ts";
import * as definitions from "./rabbitmq-definitions.ts";
import { manage, rabbitmqKind, type RabbitPorts } from "./rabbitmq-server.ts";
import { readRecord, recordedPorts, writeRecord } from "./record.ts";

/** Options of `MessagingDriver`. */
export interface MessagingOptions extends Omit<OwnServersOptions, "kind"> {
  readonly programs: DebianPrograms;
}

/** Folders below `root`, each with the record of a port. */
const serverFolder = "server";
const managementFolder = "management";
/** Has a folder for each virtual host. */
const hostsFolder = "hosts";
const dataFolder = "data-first";
/** The server's own limits are in its configuration. */
const spec: ServerSpec = {
  connectionLimit: 0,
  memoryMiB: 0,
  diskMiB: Infinity,
  tlsOnly: true,
  parameters: {},
};

interface Running {
  readonly server: OwnServer;
  readonly place: Place;
  readonly ports: RabbitPorts;
  readonly reserved: AsyncDisposable;
}

/** Starts the server with the first instance, and removes it with the last one. */
export class MessagingDriver implements Driver {
  readonly kind: DriverKind = { type: "messaging", parameters: {} };
  readonly obstacle = undefined;
  readonly #options: MessagingOptions;
  readonly #queue = new dataServers.KeyedQueue();
  #running: Running | undefined;

  constructor(options: MessagingOptions) {
    this.#options = options;
  }

  async ensure(instance: Instance): Promise<void> {
    await this.#exclusively(async () => {
      const { call } = await this.#server();
      const host = this.#hostOf(instance);
      await definitions.finishRestore(call, host);
      await definitions.makeHost(call, host);
    });
  }

  async resume(instance: Instance): Promise<void> {
    await this.#exclusively(async () => {
      if ((await readRecord(this.#folder(serverFolder))) === undefined)
        throw new Error(`the data of instance ${instance.id} are gone: the RabbitMQ server has no folder`);
      const { server } = await this.#start();
      const host = this.#hostOf(instance);
      // Waits for the server only when a killed broker left such a restore.
      if (await definitions.isRestoring(host))
        await server.use(async () => definitions.finishRestore((await this.#server()).call, host));
    });
  }

  async drop(instance: Instance, bindings: readonly Binding[]): Promise<void> {
    await this.#exclusively(async () => {
      if ((await readRecord(this.#folder(serverFolder))) === undefined) return;
      const { call } = await this.#server();
      for (const { id } of bindings) await call("DELETE", `/users/${userOf(id)}`);
      await definitions.dropHost(call, this.#hostOf(instance));
      const left = JSON.parse(await call("GET", "/vhosts?columns=name")) as readonly {
        readonly name: string;
      }[];
      if (left.some(({ name }) => name !== "/")) return;
      await this.#stop();
      await rm(this.#root, { recursive: true, force: true, maxRetries: 10 });
    });
  }

  async bind(binding: Binding): Promise<Credentials> {
    await this.#exclusively(async () =>
      definitions.admit((await this.#server()).call, binding, this.#options.secretKey),
    );
    return this.credentials(binding);
  }

  async unbind(binding: Binding): Promise<void> {
    await this.#exclusively(async () => {
      if ((await readRecord(this.#folder(serverFolder))) === undefined) return;
      const { call } = await this.#server();
      await call("DELETE", `/users/${userOf(binding.id)}`);
    });
  }

  async credentials(binding: Binding): Promise<Credentials> {
    const { secretKey, reach, authority } = this.#options;
    const { username, password } = loginOf(binding, secretKey);
    const [amqp, management] = await this.#ports();
    const { host } = reach;
    const login = `${username}:${password}@${dataServers.hostInUrl(host)}`;
    const common = { host, hosts: [host], password, ssl: true, username };
    const api = `https://${login}:${management}/api`;
    const uri = `amqps://${login}:${amqp}/${namesOf(binding.instanceId).database}`;
    const cacrt = authority.certificate;
    return {
      http_api_uri: api,
      http_api_uris: [api],
      protocols: {
        amqp_ssl: { ...common, port: amqp, uri },
        management: { ...common, cacrt, path: "/api", port: management, uri: api, uris: [api] },
      },
    };
  }

  async dump(instance: Instance, to: Writable, signal: AbortSignal): Promise<void> {
    const { call } = await this.#exclusively(() => this.#server());
    await definitions.backUpHost(call, this.#hostOf(instance), to, signal);
  }

  async restore(
    instance: Instance,
    bindings: readonly Binding[],
    options: dataServers.postgres.RestoreOptions,
  ): Promise<void> {
    await this.#exclusively(async () => {
      const { server, call } = await this.#server();
      // Repeated when the server ends meanwhile.
      await server.use(() => definitions.restoreHost(call, this.#hostOf(instance), bindings, options));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#exclusively(() => this.#stop());
  }

  get #root(): string {
    return join(this.#options.root, this.kind.type);
  }

  #folder(name: string): string {
    return join(this.#root, name);
  }

  #hostOf(instance: Instance): definitions.Host {
    const name = namesOf(instance.id).database;
    const home = join(this.#folder(hostsFolder), name);
    return {
      name,
      home,
      connectionLimit: planOf(instance).connectionLimit,
      secretKey: this.#options.secretKey,
    };
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run("server", work);
  }

  /** Returns calls of the management API of the server, which is started if it does not run. */
  async #server() {
    const { server, place, ports } = await this.#start();
    await server.whenUp();
    const call = (method: string, path: string, body?: object): Promise<string> =>
      manage(place, ports, method, path, body);
    return { call, server };
  }

  /** Starts the server, with data that count only once the records name their ports. Does not wait until it is up. */
  async #start(): Promise<Running> {
    if (this.#running !== undefined) return this.#running;
    const { authority, logger, programs, reach, root, secretKey } = this.#options;
    const home = this.#folder(serverFolder);
    await using stack = new AsyncDisposableStack();
    const record = await readRecord(home);
    const [amqp, management] = record === undefined ? [] : await this.#ports();
    // The server's own process holds the port of AMQP; this one holds the others.
    const except = await recordedPorts(root);
    const kept = await dataServers.keepPort(reach, management, except);
    stack.use(kept);
    const inside: ReservedPorts = stack.use(await reservePorts(2, { except }));
    const [distribution = 0, mapper = 0] = inside.ports;
    const ports = { management: kept.port, distribution, mapper };
    // A new port is held until the records name it: another instance that is made meanwhile would choose the same one.
    await using chosen =
      amqp === undefined ? await dataServers.keepPort(reach, undefined, except) : undefined;
    const place = this.#placeOf(amqp ?? chosen?.port ?? 0, adminPasswordOf("messaging", secretKey));
    const kind = rabbitmqKind(programs, ports);
    if (record === undefined) {
      await rm(this.#root, { recursive: true, force: true });
      for (const folder of [home, this.#folder(managementFolder)]) {
        await mkdir(folder, { recursive: true });
        for (const each of [this.#root, folder]) await chmod(each, 0o711);
      }
      await dataServers.makeServerFolder(place.data);
      await kind.initialise(place);
    }
    const stored = { data: dataFolder, restored: [] };
    await writeRecord(this.#folder(managementFolder), { ...stored, port: ports.management });
    await writeRecord(home, { ...stored, port: place.port ?? 0 });
    await authority.issue(home);
    await chosen?.[Symbol.asyncDispose]();
    const server = new OwnServer({ kind, logger, instance: "messaging", diskEveryMs: 60_000 });
    await server.apply(place, spec);
    this.#running = { server, place, ports, reserved: stack.move() };
    return this.#running;
  }

  #placeOf(port: number, adminPassword: string): Place {
    const home = this.#folder(serverFolder);
    const { reach } = this.#options;
    const tls = dataServers.tlsFilesIn(home);
    return { database: "/", home, data: join(home, dataFolder), port, reach, adminPassword, tls };
  }

  async #ports(): Promise<readonly [number, number]> {
    const [server, management] = await Promise.all(
      [serverFolder, managementFolder].map((name) => readRecord(this.#folder(name))),
    );
    if (server === undefined || management === undefined)
      throw new Error("the RabbitMQ server has no folder");
    return [server.port, management.port];
  }

  async #stop(): Promise<void> {
    await this.#running?.server.stop();
    await this.#running?.reserved[Symbol.asyncDispose]();
    this.#running = undefined;
  }
}
