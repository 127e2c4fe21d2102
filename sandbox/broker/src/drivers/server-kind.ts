/** Describes servers of which each instance has one. `own-servers.ts` makes a `Driver` of a `ServerKind`. */
import type { Writable } from "node:stream";
import type { postgres, Reach, TlsFiles } from "@klutch/data-servers";
import type { ProcessOptions } from "@klutch/engines";
import type { Plan } from "../catalog.ts";
import type { Credentials, DriverKind, OpenDump } from "./driver.ts";
import type { Parameters } from "./parameters.ts";

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

/** A dump that fills a new server. */
export interface Dump {
  readonly open: OpenDump;
  /** Ends the filling. */
  readonly signal: AbortSignal;
}

/** Describes how to start a server. */
export type Launch = Pick<ProcessOptions, "command" | "args" | "env" | "ready">;

/** The broker's access to one running server. Everything can be repeated. */
export interface Session extends AsyncDisposable {
  run(...words: readonly string[]): Promise<unknown>;
  /** Makes the login, or sets its password and rights again. */
  ensureLogin(login: postgres.Login): Promise<void>;
  /** Ends the login's sessions and removes it; what it made stays. */
  dropLogin(username: string): Promise<void>;
  /** While the disk is full, logins may read and delete only. Called at each measurement while it is full. */
  setFull(isFull: boolean): Promise<void>;
  dump(to: Writable, signal: AbortSignal): Promise<void>;
  /** Fills a server that was started on empty or prepared data. When it resolves, everything is on the disk. */
  fill(dump: Dump): Promise<void>;
}

/** One kind of server. */
export interface ServerKind extends DriverKind {
  readonly program: string;
  /** Makes empty data in `place.data`, an empty folder. A kind whose server starts on a dump puts it there; others leave that to `fill`. */
  initialise(place: Place, dump?: Dump): Promise<void>;
  launch(place: Place, spec: ServerSpec): Promise<Launch>;
  /** Applies the spec to a server that has just started, and opens it to logins. */
  open(place: Place, spec: ServerSpec): Promise<Session>;
  /** `authority` is the certificate that applications trust. */
  credentials(place: Place, login: postgres.Login, authority: string): Credentials;
}
