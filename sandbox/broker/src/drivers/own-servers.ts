/** Makes a `Driver` of a `ServerKind`: one server for each instance, its folder, its port, its logins and its restores. */
import { chmod, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import * as dataServers from "@klutch/data-servers";
import { planOf } from "../catalog.ts";
import { adminPasswordOf, loginOf, namesOf, shortHash, userOf } from "../names.ts";
import type { Binding, Instance } from "../store.ts";
import type { Activity, Credentials, Driver, Dump, Place, ServerKind, ServerSpec } from "./driver.ts";
import { OwnServer, type OwnServerOptions, startServer } from "./own-server.ts";
import { readRecord, recordedPorts, type ServerRecord, writeRecord } from "./record.ts";

/** Options of `OwnServers`. */
export interface OwnServersOptions extends Omit<OwnServerOptions, "instance"> {
  /** Holds a folder for each kind, and in it one for each instance. */
  readonly root: string;
  readonly reach: dataServers.Reach;
  readonly secretKey: string;
  readonly authority: dataServers.Authority;
}

type Restore = dataServers.postgres.RestoreOptions;

const firstData = "data-first";
/** Ports that are tried before the first start. */
const mostPorts = 5;
/** Home of the server that takes the data of a restore, which only the broker reaches. */
const hiddenHome = "filling";

/** One server for each instance. */
export class OwnServers implements Driver {
  readonly #options: OwnServersOptions;
  readonly #servers = new Map<string, OwnServer>();
  readonly kind: ServerKind;
  readonly obstacle: string | undefined;

  constructor(options: OwnServersOptions) {
    this.#options = options;
    this.kind = options.kind;
    this.obstacle = options.kind.obstacle;
  }

  async ensure(instance: Instance): Promise<void> {
    const home = this.homeOf(instance.id);
    const isNew = instance.operation === "provision" && (await readRecord(home)) === undefined;
    if (isNew) await this.#make(instance.id, home);
    await this.resume(instance);
    if (instance.operation === "provision") await this.#findPort(instance);
    else await this.serverOf(instance.id).whenUp();
  }

  /** Does not wait until the server is up. */
  async resume(instance: Instance): Promise<void> {
    await this.#moveIntoRange(instance.id);
    const place = await this.#placeOf(instance.id);
    await this.#options.authority.issue(place.home);
    await this.serverOf(instance.id).apply(place, specOf(instance));
  }

  async drop(instance: Instance): Promise<void> {
    await this.#requireDroppable(instance);
    await this.#servers.get(instance.id)?.pause();
    try {
      // Applications may have written until the server was stopped.
      await this.#requireDroppable(instance);
    } catch (error) {
      await this.resume(instance);
      throw error;
    }
    await this.#servers.get(instance.id)?.stop();
    this.#servers.delete(instance.id);
    await remove(this.homeOf(instance.id));
  }

  async bind(binding: Binding, instance: Instance): Promise<Credentials> {
    await this.serverOf(instance.id).use((session) => session.ensureLogin(this.#loginOf(binding)));
    return this.credentials(binding);
  }

  async unbind(binding: Binding, instance?: Instance): Promise<void> {
    // An instance without data has no logins.
    if ((await readRecord(this.homeOf(binding.instanceId))) === undefined) return;
    const server = this.serverOf(binding.instanceId);
    await server.use((session) => session.dropLogin(userOf(binding.id)));
    if (this.kind.unbindRestarts !== true || instance === undefined) return;
    await server.pause();
    await this.resume(instance);
    await server.whenUp();
  }

  async credentials(binding: Binding): Promise<Credentials> {
    const place = await this.#placeOf(binding.instanceId);
    return this.kind.credentials(place, this.#loginOf(binding), this.#options.authority.certificate);
  }

  async *activity(instances: readonly Instance[]): AsyncGenerator<readonly [Instance, Activity]> {
    for (const instance of instances) {
      const server = this.#servers.get(instance.id);
      if (server?.isUp !== true) continue;
      // One that ends meanwhile, or whose sessions are all taken, is asked the next time.
      const found = await server.use(async (session) => session.activity?.()).catch(() => undefined);
      if (found !== undefined) yield [instance, { ...found, own: 0 }];
    }
  }

  async dump(instance: Instance, to: Writable, signal: AbortSignal): Promise<void> {
    // It takes long, so it does not occupy the queue of the server.
    const session = await this.serverOf(instance.id).whenUp();
    await session.dump(to, signal);
  }

  /**
   * Makes the new data beside the present ones, with a server that only the broker reaches. One write of the record then exchanges them and
   * marks the restore as done.
   */
  async restore(instance: Instance, bindings: readonly Binding[], options: Restore): Promise<void> {
    const { token, signal, onStep } = options;
    const present = await this.#placeOf(instance.id);
    const { home } = present;
    const record = await readRecord(home);
    if (record === undefined || record.restored.includes(token)) return;
    await removeLeftovers(home, record.data);
    const data = `data-${token}`;
    const hidden = { ...present, home: join(home, hiddenHome), data: join(home, data), port: undefined };
    const server = this.serverOf(instance.id);
    try {
      await this.#fillHidden(hidden, specOf(instance), bindings, options);
      signal.throwIfAborted();
      await onStep?.("restore staged");
      // The old data receives no more writes from here on.
      await server.pause();
      await writeRecord(home, { ...record, data, restored: [...record.restored, token] });
      await onStep?.("restore swapped");
    } finally {
      await this.resume(instance);
      await removeLeftovers(home, (await readRecord(home))?.data ?? record.data);
    }
    await server.whenUp();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.stop()));
    this.#servers.clear();
  }

  /** Returns the keeper of the instance's server; one that was never started is stopped. */
  serverOf(instanceId: string): OwnServer {
    const make = (): OwnServer => new OwnServer({ ...this.#options, instance: instanceId });
    return this.#servers.getOrInsertComputed(instanceId, make);
  }

  homeOf(instanceId: string): string {
    return join(this.#options.root, this.kind.type, shortHash(instanceId));
  }

  /** Throws when the kind keeps the data. An instance without data can be dropped. */
  async #requireDroppable(instance: Instance): Promise<void> {
    const home = this.homeOf(instance.id);
    const record = await readRecord(home);
    if (record === undefined) return;
    const reason = await this.kind.whyKept?.(this.#placeIn(instance.id, home, record), specOf(instance));
    if (reason !== undefined) throw new Error(`instance ${instance.id} is kept: ${reason}`);
  }

  /** Throws when the data of the instance are gone. */
  async #placeOf(instanceId: string): Promise<Place> {
    const home = this.homeOf(instanceId);
    const record = await readRecord(home);
    const place = record === undefined ? undefined : this.#placeIn(instanceId, home, record);
    if (place !== undefined && (await stat(place.data).catch(() => undefined)) !== undefined) return place;
    throw new Error(`the data of instance ${instanceId} are gone: ${place?.data ?? home} does not exist`);
  }

  #placeIn(instanceId: string, home: string, { port, data }: ServerRecord): Place {
    return {
      database: namesOf(instanceId).database,
      home,
      data: join(home, data),
      port,
      reach: this.#options.reach,
      adminPassword: adminPasswordOf(instanceId, this.#options.secretKey),
      tls: dataServers.tlsFilesIn(home),
    };
  }

  #loginOf(binding: Binding): dataServers.postgres.Login {
    return loginOf(binding, this.#options.secretKey);
  }

  /** Writes the record last, so what a crash left without one is thrown away. */
  async #make(instanceId: string, home: string): Promise<void> {
    await remove(home);
    await makeHome(home);
    await this.#withPort(async (port) => {
      const record = { port, data: firstData, restored: [] };
      await this.#makeData(this.#placeIn(instanceId, home, record));
      await writeRecord(home, record);
    });
  }

  /** Waits for the first start. Until then no binding names the port, so one that another program took is exchanged. */
  async #findPort(instance: Instance): Promise<void> {
    const server = this.serverOf(instance.id);
    for (let tried = 1; tried < mostPorts; tried++) {
      if (await server.isUpAtItsPort()) return;
      await server.stop();
      await this.#changePort(instance.id);
      await this.resume(instance);
    }
    await server.whenUp();
  }

  /** Gives the server another port when its own is outside of the range of ports, where no application reaches it. */
  async #moveIntoRange(instanceId: string): Promise<void> {
    const record = await readRecord(this.homeOf(instanceId));
    if (record !== undefined && !dataServers.isWithin(this.#options.reach, record.port))
      await this.#changePort(instanceId);
  }

  async #changePort(instanceId: string): Promise<void> {
    const home = this.homeOf(instanceId);
    const record = await readRecord(home);
    if (record === undefined) return;
    await this.#withPort(async (port) => {
      await writeRecord(home, { ...record, port });
      const about = { instance: instanceId, before: record.port, port };
      this.#options.logger.warn("a data server has another port now", about);
    });
  }

  /** Passes a free port. From its record on it is the instance's, whether or not its server runs. */
  async #withPort(work: (port: number) => Promise<void>): Promise<void> {
    const { reach, root } = this.#options;
    await using reserved = await dataServers.keepPort(reach, undefined, await recordedPorts(root));
    await work(reserved.port);
  }

  /** Makes data that count only once a record names them. */
  async #makeData(place: Place, dump?: Dump): Promise<void> {
    await dataServers.makeServerFolder(place.data);
    await this.kind.initialise(place, dump);
  }

  async #fillHidden(place: Place, spec: ServerSpec, bindings: readonly Binding[], dump: Dump): Promise<void> {
    await makeHome(place.home);
    await this.#makeData(place, dump);
    await using server = await startServer(this.kind, place, spec, dump.signal);
    {
      await using session = await this.kind.open(place, spec);
      await session.fill(dump);
      for (const binding of bindings) await session.ensureLogin(this.#loginOf(binding));
    }
    await server.stop();
    if ((await server.exited) !== (this.kind.exitCode ?? 0))
      throw new Error("the server that took the backup did not end in order");
  }
}

/** Makes a folder that the server can pass through without listing it. */
async function makeHome(home: string): Promise<void> {
  await mkdir(home, { recursive: true });
  await chmod(home, 0o711);
}

/** Removes all data but the present ones. */
async function removeLeftovers(home: string, present: string): Promise<void> {
  for (const name of await readdir(home))
    if (name === hiddenHome || (name.startsWith("data-") && name !== present)) await remove(join(home, name));
}

/** Removes a folder, again while the server of a killed broker, which is about to end, still writes there. */
async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

function specOf(instance: Instance): ServerSpec {
  return { ...planOf(instance), parameters: instance.parameters };
}
