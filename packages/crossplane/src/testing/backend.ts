/**
 * A fake of a backend with external resources, because faults between two calls cannot be had from a real one on demand. It is strict:
 * what must not happen twice throws the second time.
 */
import type { Clock } from "@klutch/kube";

/** An external resource. */
export interface Crate {
  readonly size: number;
  readonly state: "creating" | "available" | "deleting";
}

/** Options of a backend. */
export interface BackendOptions {
  readonly clock: Clock;
  /** Duration of creates and deletes. Default 0: they are done when they are answered. */
  readonly takesMs?: number | undefined;
}

/** The crates by id. */
export class Backend {
  readonly crates: Map<string, Crate> = new Map();
  /** The id of each create that was accepted, and of each delete. */
  readonly created: string[] = [];
  readonly deleted: string[] = [];
  readonly #options: BackendOptions;

  constructor(options: BackendOptions) {
    this.#options = options;
  }

  create(id: string, size: number): void {
    if (this.created.includes(id)) throw new Error(`crate ${id} is created twice`);
    this.created.push(id);
    this.crates.set(id, { size, state: "creating" });
    this.#later(() => {
      // A deletion that came meanwhile goes on.
      if (this.crates.get(id)?.state === "creating") this.crates.set(id, { size, state: "available" });
    });
  }

  resize(id: string, size: number): void {
    const crate = this.crates.get(id);
    if (crate?.state !== "available") throw new Error(`crate ${id} cannot be resized: it is ${crate?.state}`);
    this.crates.set(id, { ...crate, size });
  }

  delete(id: string): void {
    const crate = this.crates.get(id);
    if (crate === undefined || crate.state === "deleting") throw new Error(`crate ${id} is deleted twice`);
    this.deleted.push(id);
    this.crates.set(id, { ...crate, state: "deleting" });
    this.#later(() => void this.crates.delete(id));
  }

  #later(done: () => void): void {
    const { clock, takesMs = 0 } = this.#options;
    if (takesMs === 0) done();
    else clock.schedule(takesMs, done);
  }
}
