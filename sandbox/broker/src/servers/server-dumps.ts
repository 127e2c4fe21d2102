/** Dumps of instances that have a server each. What differs between kinds is how data come out and in. */
import type { Readable, Writable } from "node:stream";
import type { Dumps, DumpSource, RestoreOptions } from "../backup-manager/dumps.ts";
import type { Binding, Instance } from "../store.ts";
import type { DataServers } from "./data-servers.ts";
import type { Place, ServerKind, Session } from "./kind.ts";
import { type Filling, replaceData } from "./replacement.ts";

/** How one kind of server is dumped, and filled. */
export interface DumpFormat<S extends Session> {
  readonly backupType: string;
  /** Throws when it is not whole; then `to` is destroyed. */
  readonly write: (place: Place, session: S, to: Writable, signal: AbortSignal) => Promise<void>;
  readonly read: (from: () => Readable, signal: AbortSignal) => Filling<S>;
}

/** Options of `ServerDumps`. */
export interface ServerDumpsOptions<S extends Session> {
  readonly serviceId: string;
  readonly servers: DataServers<S>;
  readonly kind: ServerKind<S>;
  readonly format: DumpFormat<S>;
  readonly bindingsOf: (instanceId: string) => Promise<readonly Binding[]>;
}

/** For one service. */
export class ServerDumps<S extends Session> implements Dumps {
  readonly #options: ServerDumpsOptions<S>;

  constructor(options: ServerDumpsOptions<S>) {
    this.#options = options;
  }

  get serviceId(): string {
    return this.#options.serviceId;
  }

  get backupType(): string {
    return this.#options.format.backupType;
  }

  /** Who has the servers has everything. */
  obstacle(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async dump(instance: Instance, to: Writable, signal: AbortSignal): Promise<void> {
    const { servers, format } = this.#options;
    try {
      const place = await servers.placeOf(instance.id);
      // A dump takes long, and nobody shall wait for it; it has a session of its own.
      const session = await servers.serverOf(instance.id).use((present) => Promise.resolve(present));
      await format.write(place, session, to, signal);
    } catch (error) {
      to.destroy();
      throw error;
    }
  }

  async restore(instance: Instance, from: DumpSource, { signal, token }: RestoreOptions): Promise<void> {
    const { servers, kind, format, bindingsOf } = this.#options;
    const bindings = await bindingsOf(instance.id);
    const filling = format.read(() => from.open(), signal);
    await replaceData({ servers, kind, instance, bindings, token, filling, signal });
  }

  cleanUp(): Promise<void> {
    return this.#options.servers.cleanUp();
  }
}
