/**
 * The content of a cached object for as long as it is of use. Fresh ones are held as they came; when many wait to be reconciled, the
 * older ones are packed, and what no longer fits is dropped: it is read from the server when it is needed. When a pair is in sync, its
 * contents are dropped.
 */
import { decodeObject, parseJson } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";

/** Amount of content that waits in memory. */
export interface PayloadCacheLimits {
  /** Number of payloads that are held as they came. Default 64. */
  readonly unpacked?: number | undefined;
  /** Number of characters that are held of the others. Default 32 Mi: some ten thousand ordinary claims. */
  readonly packedLength?: number | undefined;
}

const what = "a cached object";

/** Content that may be packed or gone. */
export class Payload {
  readonly #cache: PayloadCache | undefined;
  #object: DynamicObject | undefined;
  /** Text, not bytes: the collector moves and returns the memory of strings. */
  #packed: string | undefined;

  /** Without an object it is gone from the start. */
  constructor(payloadCache?: PayloadCache, object?: DynamicObject) {
    this.#cache = payloadCache;
    this.#object = object;
  }

  /** The whole object; undefined when it was dropped. */
  read(): DynamicObject | undefined {
    if (this.#object !== undefined || this.#packed === undefined) return this.#object;
    // Keeps whole numbers that a double cannot hold, as the first reading did.
    return decodeObject<DynamicObject>(parseJson(this.#packed, what), what);
  }

  /** Makes it smaller, or drops it where there is no room. */
  pack(): void {
    if (this.#object === undefined || this.#cache === undefined) return;
    const text = JSON.stringify(this.#object);
    this.#object = undefined;
    if (this.#cache.reserve(text.length)) this.#packed = text;
  }

  drop(): void {
    this.#object = undefined;
    if (this.#packed !== undefined) this.#cache?.release(this.#packed.length);
    this.#packed = undefined;
  }
}

/** Packs the oldest payloads when there are too many. One for each cluster. */
export class PayloadCache {
  readonly #unpackedLimit: number;
  readonly #unpacked: Payload[] = [];
  #first = 0;
  #room: number;

  constructor({ unpacked = 64, packedLength = 32 * 1024 * 1024 }: PayloadCacheLimits = {}) {
    this.#unpackedLimit = unpacked;
    this.#room = packedLength;
  }

  /** A payload for a fresh object. */
  add(object: DynamicObject): Payload {
    const payload = new Payload(this, object);
    this.#unpacked.push(payload);
    while (this.#unpacked.length - this.#first > this.#unpackedLimit) {
      this.#unpacked[this.#first]?.pack();
      this.#first++;
    }
    if (this.#first > this.#unpackedLimit) {
      this.#unpacked.splice(0, this.#first);
      this.#first = 0;
    }
    return payload;
  }

  /** Takes room for packed text; false when there is not enough. */
  reserve(length: number): boolean {
    if (length > this.#room) return false;
    this.#room -= length;
    return true;
  }

  /** Gives room back. */
  release(length: number): void {
    this.#room += length;
  }
}
