/** The exports of one tenant, each read once for each of its versions by the one parser of exports. */
import { type ForeignExport, parseExport } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";

/** Gives what the parser made of an export, in order or not. Exports of other namespaces do not exist for it. */
export class ForeignExports {
  readonly cache: ReadYourWritesCache;
  readonly #namespace: string;
  readonly #read = new WeakMap<DynamicObject, ForeignExport>();

  /** `namespace` is the cluster namespace. */
  constructor(cache: ReadYourWritesCache, namespace: string) {
    this.cache = cache;
    this.#namespace = namespace;
  }

  /** The export of this name; undefined when there is none. */
  get(name: string): ForeignExport | undefined {
    const object = this.cache.get(`${this.#namespace}/${name}`);
    return object === undefined ? undefined : this.#parsed(object);
  }

  #parsed(object: DynamicObject): ForeignExport {
    const known = this.#read.get(object) ?? parseExport(object);
    this.#read.set(object, known);
    return known;
  }
}
