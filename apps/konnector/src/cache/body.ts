/**
 * The content of a cached object for as long as it is of use. Fresh ones are held as they came; when many wait to be looked at, the
 * older ones are packed; and when a pair is in sync they are dropped.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type DynamicObject, decodeObject, parseJson } from "@klutch/kube";

/** So many are held unpacked. */
const unpackedLimit = 64;
/** Below this, compressing costs more time than it saves memory: most of it goes into preparing the window. */
const compressFromLength = 16_384;

const what = "a cached object";

/** Content that may be packed or gone. */
export class Body {
  #object: DynamicObject | undefined;
  /** Short text stays a string: the collector moves and returns its memory, which that of buffers is not. */
  #packed: string | Buffer | undefined;

  constructor(object: DynamicObject) {
    this.#object = object;
  }

  /** The whole object; undefined when it was dropped. */
  read(): DynamicObject | undefined {
    if (this.#object !== undefined || this.#packed === undefined) return this.#object;
    const packed = this.#packed;
    const text = typeof packed === "string" ? packed : inflateRawSync(packed).toString("utf8");
    // Keeps whole numbers that a double cannot hold, as the first reading did.
    return decodeObject<DynamicObject>(parseJson(text, what), what);
  }

  pack(): void {
    if (this.#object === undefined) return;
    const text = JSON.stringify(this.#object);
    this.#packed = text.length >= compressFromLength ? deflateRawSync(text, { level: 1 }) : text;
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
