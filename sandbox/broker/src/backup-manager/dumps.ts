/** What the backup manager needs of each service: the data of an instance as one stream of bytes, and back. */
import type { Readable, Writable } from "node:stream";
import type { Instance } from "../store.ts";

/** A dump that was checked to be whole and ours; each call of `open` reads it from its begin. */
export interface DumpSource {
  open(): Readable;
}

/** One restore. */
export interface RestoreOptions {
  readonly signal: AbortSignal;
  /** Names this restore, and no other for all time: 1 to 60 letters, digits, `-` and `_`. */
  readonly token: string;
}

/**
 * How the instances of one service are dumped and restored. The manager runs one of these at a time on an instance, and keeps its broker
 * from changing the instance while it is restored. What an instance holds is its tenant's: it may lie, and may hold code that must not
 * run with more rights than the tenant has.
 */
export interface Dumps {
  /** Of the catalog. */
  readonly serviceId: string;
  /** How backups are made, such as `postgresql_dump`; shown to users. */
  readonly backupType: string;

  /** Why no instance can be backed up or restored now, as one sentence that says what is missing; undefined when it can. Never throws. */
  obstacle(): Promise<string | undefined>;

  /**
   * Writes what the instance holds at one moment, and ends `to`. Throws when it is not whole; then `to` is destroyed. Never holds all of
   * it in memory. Leaves the instance as it is.
   */
  dump(instance: Instance, to: Writable, signal: AbortSignal): Promise<void>;

  /**
   * Puts the instance back to what `from` holds, all of it or nothing: when it throws, and also when the process is killed, the data are
   * the old ones or the new ones, and never both. Bindings keep their credentials and rights; their sessions end.
   *
   * It can be repeated with the same `token` after a crash: what was left half-made is thrown away, and **a restore that was done already
   * does nothing**, since what was written after it would be lost.
   */
  restore(instance: Instance, from: DumpSource, options: RestoreOptions): Promise<void>;

  /** Called once before anything else runs: removes what a killed process left, of all instances of the service. */
  cleanUp(): Promise<void>;
}
