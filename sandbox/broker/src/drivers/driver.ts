/**
 * The interface between the broker and what makes its services real, one driver for each service. Of some services each instance has a server of
 * its own; `own-servers.ts` makes a `Driver` of their `ServerKind`.
 */
import type { Writable } from "node:stream";
import type { postgres, Reach, TlsFiles } from "@klutch/data-servers";
import type { ProcessOptions } from "@klutch/engines";
import type { Plan, ServiceType } from "../catalog.ts";
import type { Binding, Instance } from "../store.ts";
import type { ParameterChecks, Parameters } from "./parameters.ts";

/** The broker's own account at the servers that it runs. */
export const adminUser = "klutch";

/** Use of an instance, as its server tells it. */
export interface Activity {
  /** Size of its data. */
  readonly bytes: number;
  /** Sessions that clients had since `epoch` began, at least. */
  readonly sessions: number;
  /** Changes when the server may count from 0 again. */
  readonly epoch: string;
  /** A client has a session now. */
  readonly isOpen: boolean;
  /** Sessions of the broker itself that `sessions` contains since the last look. */
  readonly own: number;
}

/** Credentials of a binding, as an application reads them. */
export type Credentials = Readonly<Record<string, unknown>>;

/** The service of a driver. */
export interface DriverKind {
  readonly type: ServiceType;
  /** The instance parameters that are supported. */
  readonly parameters: ParameterChecks;
}

/**
 * Makes the instances of one service. It judges no request, and every call can be repeated after a crash. The broker does not call it twice
 * at the same time for one instance, except for `dump` and `credentials`.
 */
export interface Driver extends AsyncDisposable {
  readonly kind: DriverKind;

  /** Makes the instance if it does not exist, applies its plan and parameters, and waits until it can be used. */
  ensure(instance: Instance): Promise<void>;
  /** Starts an existing instance again after a start of the broker. Throws when its data are gone; it never makes it again, empty. */
  resume(instance: Instance): Promise<void>;
  /** Removes the instance with everything that it holds, and ends its sessions. */
  drop(instance: Instance, bindings: readonly Binding[]): Promise<void>;
  /** Makes the login of a binding. Repeating it returns the same credentials and undoes what the login did to itself. */
  bind(binding: Binding, instance: Instance): Promise<Credentials>;
  /** Ends the sessions of the binding's login and removes it; what it made stays. */
  unbind(binding: Binding, instance: Instance): Promise<void>;
  /** Returns the credentials of an existing binding, always the same. */
  credentials(binding: Binding): Promise<Credentials>;

  /** Tells size and sessions of those instances whose servers run. Absent: the servers cannot tell. May be called beside all other calls. */
  activity?(instances: readonly Instance[]): AsyncIterable<readonly [Instance, Activity]>;
  /** Explains why no instance can be backed up or restored, and what to install; undefined when it can. */
  readonly obstacle: string | undefined;
  /** Writes a consistent dump to `to`, which is ended only when the dump is whole. */
  dump(instance: Instance, to: Writable, signal: AbortSignal): Promise<void>;
  /**
   * Replaces the data with those of a dump, all or nothing, and once for each token. Bindings keep their credentials; their sessions end. When
   * it throws, or the process is killed, the data are the old or the new ones.
   */
  restore(instance: Instance, bindings: readonly Binding[], options: postgres.RestoreOptions): Promise<void>;
}

/** The limits of a plan, and parameters. */
export interface ServerSpec extends Pick<Plan, "connectionLimit" | "memoryMiB" | "diskMiB" | "tlsOnly"> {
  readonly parameters: Parameters;
}

/** Holds the names, folders, address and secrets of an instance. */
export interface Place {
  readonly database: string;
  /** Folder of the broker for this instance; its server may read files that the broker makes for it there. */
  readonly home: string;
  /** The server's own folder, in which it is started. */
  readonly data: string;
  /** Undefined: the server is reached by its socket only. */
  readonly port: number | undefined;
  readonly reach: Reach;
  readonly adminPassword: string;
  readonly tls: TlsFiles;
}

/** A dump that fills a new server; `signal` ends the filling. */
export type Dump = Pick<postgres.RestoreOptions, "open" | "signal">;

/** Describes how to start a server. */
export type Launch = Pick<ProcessOptions, "command" | "args" | "env" | "ready">;

/** The server cannot start until its plan, its parameters or the machine change, so waiting for it does not help. */
export class Unstartable extends Error {}

/** The broker's access to one running server. Everything can be repeated. */
export interface Session extends AsyncDisposable {
  run(...words: readonly string[]): Promise<unknown>;
  /** Makes the login, or sets its password and rights again. */
  ensureLogin(login: postgres.Login): Promise<void>;
  /** Ends the login's sessions and removes it; what it made stays. */
  dropLogin(username: string): Promise<void>;
  /** While the disk is full, logins may read and delete only. Called at each measurement while it is full. */
  setFull(isFull: boolean): Promise<void>;
  /** Tells size and sessions of clients; those of the broker itself do not count. Absent: the server cannot tell. */
  activity?(): Promise<Omit<Activity, "own">>;
  dump(to: Writable, signal: AbortSignal): Promise<void>;
  /** Fills a server that was started on empty or prepared data. When it resolves, everything is on the disk. */
  fill(dump: Dump): Promise<void>;
}

/** One kind of server. */
export interface ServerKind extends DriverKind {
  readonly program: string;
  /** Milliseconds in which a server starts at the latest. Default 60 000. */
  readonly patienceMs?: number | undefined;
  /** As of a driver. Default: backups are possible. */
  readonly obstacle?: string | undefined;
  /** Exit code of a server that was asked to end. Default 0. */
  readonly exitCode?: number | undefined;
  /** The server keeps sessions of logins that are gone, so it is restarted. Default: it ends them. */
  readonly unbindRestarts?: boolean | undefined;
  /** Makes empty data in `place.data`, an empty folder. A kind whose server starts on a dump puts it there; others leave that to `fill`. */
  initialise(place: Place, dump?: Dump): Promise<void>;
  launch(place: Place, spec: ServerSpec): Promise<Launch>;
  /** Applies the spec to a server that has just started, and opens it to logins. */
  open(place: Place, spec: ServerSpec): Promise<Session>;
  /** `authority` is the certificate that applications trust. */
  credentials(place: Place, login: postgres.Login, authority: string): Credentials | Promise<Credentials>;
  /** Explains why an instance with these data must not be dropped. Default: it always may be. */
  whyKept?(place: Place, spec: ServerSpec): Promise<string | undefined>;
}
