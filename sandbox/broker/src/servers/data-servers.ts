/** All instances whose servers are of one kind: where they live, and what is done to them. */
import { chmod, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type Authority,
  choosePort,
  isWithin,
  makeServerFolder,
  type Reach,
  tlsFilesIn,
} from "@klutch/data-servers";
import type { ReservedPorts } from "@klutch/engines";
import type { Logger } from "@klutch/telemetry";
import type { Backend } from "../backend.ts";
import { adminPasswordOf, namesOf, passwordOf, shortHash, userOf } from "../names.ts";
import type { Binding, Instance } from "../store.ts";
import { KeptServer } from "./kept-server.ts";
import type { Login, Place, ServerKind, Session } from "./kind.ts";
import { endLeftover } from "./process-identity.ts";
import { hiddenHome, removeLeftover } from "./leftover.ts";
import { specOf } from "./server-spec.ts";
import { readRecord, recordedPorts, type ServerRecord, writeRecord } from "./record.ts";

/** Options of `DataServers`. */
export interface DataServersOptions<S extends Session> {
  readonly kind: ServerKind<S>;
  /** Holds a folder for each kind, in which each instance has one. */
  readonly root: string;
  readonly reach: Reach;
  /** From it passwords are derived. */
  readonly secretKey: string;
  readonly authority: Authority;
  readonly logger: Logger;
  readonly diskEveryMs?: number | undefined;
}

const firstData = "data-first";

/** One server for each instance. Of one instance one thing is done at a time. */
export class DataServers<S extends Session> implements Backend, AsyncDisposable {
  readonly #options: DataServersOptions<S>;
  readonly #servers = new Map<string, KeptServer<S>>();

  constructor(options: DataServersOptions<S>) {
    this.#options = options;
  }

  /** Makes the server if it is not there, and brings it to its plan and parameters. */
  async ensure(instance: Instance): Promise<void> {
    const home = this.homeOf(instance.id);
    const isNew = instance.operation === "provision" && (await readRecord(home)) === undefined;
    if (isNew) await this.#make(instance.id, home);
    await this.refresh(instance);
    // It is there when it can be used.
    await this.serverOf(instance.id).use(() => Promise.resolve());
  }

  /** Starts a server that must be there, and does not wait for it: one that was lost is never made again, empty. */
  async refresh(instance: Instance): Promise<void> {
    await this.#moveIntoRange(instance.id);
    const place = await this.placeOf(instance.id);
    await this.#options.authority.issue(place.home);
    await this.serverOf(instance.id).apply(place, specOf(instance));
  }

  /** Ends the server, and removes everything it had. */
  async drop(instance: Instance): Promise<void> {
    await this.#servers.get(instance.id)?.stop();
    this.#servers.delete(instance.id);
    const home = this.homeOf(instance.id);
    for (const each of [home, join(home, hiddenHome)]) await endLeftover(each);
    await rm(home, { recursive: true, force: true });
  }

  async bind(binding: Binding, instance: Instance): Promise<Readonly<Record<string, unknown>>> {
    const login = this.loginOf(binding);
    await this.serverOf(instance.id).use((session) => session.ensureLogin(login));
    return this.credentials(binding);
  }

  async unbind(binding: Binding): Promise<void> {
    const { username } = this.loginOf(binding);
    // Without data there is no login, either.
    if ((await readRecord(this.homeOf(binding.instanceId))) === undefined) return;
    await this.serverOf(binding.instanceId).use((session) => session.dropLogin(username));
  }

  /** The same answer for the same binding. */
  async credentials(binding: Binding): Promise<Readonly<Record<string, unknown>>> {
    const { kind, authority } = this.#options;
    const place = await this.placeOf(binding.instanceId);
    return kind.credentials(place, this.loginOf(binding), authority.certificate);
  }

  /** What the broker's end left half-made is removed. Called before anything else runs. */
  async cleanUp(): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const home = join(this.#folder, name);
      const record = await readRecord(home);
      if (record !== undefined) await removeLeftover(home, record.data);
    }
  }

  /** Ends all servers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.stop()));
    this.#servers.clear();
  }

  /** What keeps the instance's server; one that was never started is stopped. */
  serverOf(instanceId: string): KeptServer<S> {
    const { kind, logger, diskEveryMs } = this.#options;
    const present = this.#servers.get(instanceId);
    if (present !== undefined) return present;
    const made = new KeptServer({ kind, instance: instanceId, logger, diskEveryMs });
    this.#servers.set(instanceId, made);
    return made;
  }

  homeOf(instanceId: string): string {
    return join(this.#folder, shortHash(instanceId));
  }

  get #folder(): string {
    return join(this.#options.root, this.#options.kind.name);
  }

  /** Where the instance lives. Throws when its data are gone. */
  async placeOf(instanceId: string): Promise<Place> {
    const home = this.homeOf(instanceId);
    const record = await readRecord(home);
    if (record === undefined)
      throw new Error(`the data of instance ${instanceId} are gone: ${home} is not there`);
    const place = this.placeIn(instanceId, home, record);
    await stat(place.data).catch((cause: unknown) => {
      throw new Error(`the data of instance ${instanceId} are gone: ${place.data} is not there`, { cause });
    });
    return place;
  }

  placeIn(instanceId: string, home: string, { port, data }: ServerRecord): Place {
    return {
      database: namesOf(instanceId).database,
      home,
      data: join(home, data),
      port,
      reach: this.#options.reach,
      adminPassword: adminPasswordOf(instanceId, this.#options.secretKey),
      tls: tlsFilesIn(home),
    };
  }

  /** A binding's login; its password follows from the key and the stored salt, and is not stored. */
  loginOf(binding: Binding): Login {
    return {
      username: userOf(binding.id),
      password: passwordOf(binding, this.#options.secretKey),
    };
  }

  /** Its record is the last that is made, so what a crash left without one is thrown away. */
  async #make(instanceId: string, home: string): Promise<void> {
    await endLeftover(home);
    await rm(home, { recursive: true, force: true });
    await mkdir(home, { recursive: true });
    // The server must get through, and see only what it knows by name.
    await chmod(home, 0o711);
    const record = { port: await this.#holdPort(instanceId), data: firstData, restored: [] };
    await this.makeData(this.placeIn(instanceId, home, record));
    await writeRecord(home, record);
  }

  /** A port that no other instance has, whether or not its server runs. */
  async #holdPort(instanceId: string): Promise<number> {
    const { reach, root } = this.#options;
    const reserved: ReservedPorts = await choosePort(reach, await recordedPorts(root));
    await this.serverOf(instanceId).hold(reserved);
    return reserved.ports[0] ?? 0;
  }

  /** The range may be another one than at the last start. Nobody reaches a port outside of it, so nothing is lost by another one. */
  async #moveIntoRange(instanceId: string): Promise<void> {
    const { reach, logger } = this.#options;
    const home = this.homeOf(instanceId);
    const record = await readRecord(home);
    if (record === undefined || isWithin(reach, record.port)) return;
    const port = await this.#holdPort(instanceId);
    await writeRecord(home, { ...record, port });
    logger.warn("a data server has another port now", { instance: instanceId, before: record.port, port });
  }

  /** Makes empty data at the place; what is there already is thrown away. */
  async makeData(place: Place): Promise<void> {
    const partial = { ...place, data: `${place.data}.partial` };
    for (const folder of [partial.data, place.data]) await rm(folder, { recursive: true, force: true });
    await makeServerFolder(partial.data);
    await this.#options.kind.initialise(partial);
    await rename(partial.data, place.data);
  }
}
