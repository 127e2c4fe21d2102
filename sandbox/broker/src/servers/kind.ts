/** What differs between kinds of data servers. Everything else (processes, folders, limits, restores) is the same for all. */
import type { Reach } from "@klutch/data-servers";
import type { Parameters } from "../parameter-checks.ts";

/** What a server must be like. */
export interface ServerSpec {
  /** Sessions at the same time. */
  readonly connections: number;
  readonly memoryMiB: number;
  readonly diskMiB: number;
  /** Whether logins are refused without TLS. */
  readonly tlsOnly: boolean;
  readonly parameters: Parameters;
}

/** Where an instance lives. */
export interface Place {
  /** Name of its database, if its kind has any. */
  readonly database: string;
  /** The broker's own folder for it: the server may read what is made for it here, and write nothing. */
  readonly home: string;
  /** The server's own folder, in which it is started. */
  readonly data: string;
  /** Undefined: the server is reached by its socket only. */
  readonly port: number | undefined;
  /** Where it listens, and what its bindings say. */
  readonly reach: Reach;
  /** Of the broker's own account. */
  readonly adminPassword: string;
  /** Of its certificate, in `home`. */
  readonly tls: { readonly authority: string; readonly certificate: string; readonly key: string };
}

/** How a server is started. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Memory of its own that the kernel lets the process have. */
  readonly memoryMiB: number;
  /** Whether the server answers. */
  readonly ready: () => Promise<boolean>;
}

/** Of a binding. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

/** The broker's way into one running server. Everything it does can be repeated. */
export interface Session extends AsyncDisposable {
  /** Makes the login, or sets its password and rights again. */
  ensureLogin(login: Login): Promise<void>;
  /** Ends the login's sessions and takes it away. What it made stays. */
  dropLogin(username: string): Promise<void>;
  /** While the disk is full logins may read and delete, and write nothing. */
  setFull(isFull: boolean): Promise<void>;
  /** Gives back what the server keeps on the disk and does not need. */
  makeRoom(): Promise<void>;
}

/** The server does not do what its broker wants, and only its end helps. Work that throws it is done again after a new start. */
export class StuckError extends Error {}

/** Of all kinds. */
export const kindNames = ["mariadb", "keyvalue"] as const;

/** One kind of server. */
export interface ServerKind<S extends Session = Session> {
  readonly name: (typeof kindNames)[number];
  /** Of the program that runs, for messages. */
  readonly program: string;
  /** Makes an empty `place.data`; the folder itself is there and empty. */
  initialise(place: Place): Promise<void>;
  /** Writes what the server reads at its start. */
  launch(place: Place, spec: ServerSpec): Promise<Launch>;
  /** Brings a server that has just started to its spec, and opens it to logins. */
  open(place: Place, spec: ServerSpec): Promise<S>;
  /** What applications read. `authority` is the certificate that they trust. */
  credentials(place: Place, login: Login, authority: string): Readonly<Record<string, unknown>>;
}
