/** The interface between the broker and what makes its services real, one driver for each service. */
import type { Readable, Writable } from "node:stream";
import type { postgres } from "@klutch/data-servers";
import type { ServiceType } from "../catalog.ts";
import type { Binding, Instance } from "../store.ts";
import type { ParameterChecks } from "./parameters.ts";

/** Credentials of a binding, as an application reads them. */
export type Credentials = Readonly<Record<string, unknown>>;

/** The service of a driver. */
export interface DriverKind {
  readonly type: ServiceType;
  /** Method of backups, such as `postgresql_dump`; shown to users. */
  readonly backupType: string;
  /** The instance parameters that are supported. */
  readonly parameters: ParameterChecks;
}

/** Opens a dump at its beginning. */
export type OpenDump = () => Readable;

/**
 * Makes the instances of one service. It judges no request, and every call can be repeated after a crash. The broker does not call it twice
 * at the same time for one instance, except for `dump` and `credentials`.
 */
export interface Driver extends AsyncDisposable {
  readonly kind: DriverKind;

  /** Makes the instance if it does not exist, applies its plan and parameters, and waits until it can be used. */
  ensure(instance: Instance, bindings: readonly Binding[]): Promise<void>;
  /** Starts an existing instance again after a start of the broker. Throws when its data are gone; it never makes it again, empty. */
  resume(instance: Instance, bindings: readonly Binding[]): Promise<void>;
  /** Removes the instance with everything that it holds, and ends its sessions. */
  drop(instance: Instance, bindings: readonly Binding[]): Promise<void>;
  /** Makes the login of a binding. Repeating it returns the same credentials and undoes what the login did to itself. */
  bind(binding: Binding, instance: Instance): Promise<Credentials>;
  /** Ends the sessions of the binding's login and removes it; what it made stays. */
  unbind(binding: Binding, instance: Instance): Promise<void>;
  /** Returns the credentials of an existing binding, always the same. */
  credentials(binding: Binding): Promise<Credentials>;

  /** Explains why no instance can be backed up or restored, and what to install; undefined when it can. */
  readonly obstacle: string | undefined;
  /** Writes a consistent dump to `to`, which is ended only when the dump is whole. */
  dump(instance: Instance, to: Writable, signal: AbortSignal): Promise<void>;
  /**
   * Replaces the data with those of a dump, all or nothing, and once for each token. Bindings keep their credentials; their sessions end. When
   * it throws, or the process is killed, the data are the old or the new ones.
   */
  restore(
    instance: Instance,
    bindings: readonly Binding[],
    open: OpenDump,
    options: postgres.RestoreOptions,
  ): Promise<void>;
}
