/**
 * The content of a cached object for as long as it is of use. Fresh ones are held as they came; when many wait to be looked at, the
 * older ones are packed; and when a pair is in sync they are dropped.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { DynamicObject } from "@klutch/kube";

/** So many are held unpacked. */
const unpackedLimit = 64;
/** Small windows: objects are small, and most of the time goes into preparing the window. */
const packing = { level: 1, windowBits: 12, memLevel: 5 };

/** Content that may be packed or gone. */
export class Body {
  #object: DynamicObject | undefined;
  #packed: Uint8Array | undefined;

  constructor(object: DynamicObject) {
    this.#object = object;
  }

  get isUnpacked(): boolean {
    return this.#object !== undefined;
  }

  /** The whole object; undefined when it was dropped. */
  read(): DynamicObject | undefined {
    if (this.#object !== undefined || this.#packed === undefined) return this.#object;
    return JSON.parse(inflateRawSync(this.#packed).toString("utf8")) as DynamicObject;
  }

  pack(): void {
    if (this.#object === undefined) return;
    this.#packed = deflateRawSync(JSON.stringify(this.#object), packing);
    this.#object = undefined;
  }

  drop(): void {
    this.#object = undefined;
    this.#packed = undefined;
  }
}

/** Packs the oldest bodies when there are too many. One for each cluster. */
export class BodyShelf {
  readonly #unpacked: Body[] = [];
  #first = 0;

  /** A body for a fresh object. */
  put(object: DynamicObject): Body {
    const body = new Body(object);
    this.#unpacked.push(body);
    while (this.#unpacked.length - this.#first > unpackedLimit) {
      this.#unpacked[this.#first]?.pack();
      this.#first++;
    }
    if (this.#first > unpackedLimit) {
      this.#unpacked.splice(0, this.#first);
      this.#first = 0;
    }
    return body;
  }
}
