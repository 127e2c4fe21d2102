/** The objects, the one counter of resource versions, and the history that watches and pages read. */
import { jsonEqual } from "@klutch/kube-core";
import { deepFreeze, type JsonObject, textAt, withMeta } from "./json.ts";
import { expired } from "./status-errors.ts";

/** One change of one object. */
export interface Change {
  readonly resourceVersion: number;
  readonly key: string;
  /** Undefined when it was removed. */
  readonly object: JsonObject | undefined;
  /** Undefined when it was created. */
  readonly previous: JsonObject | undefined;
}

/** The whole state at one moment. Opaque. */
export interface StoreBackup {
  readonly revision: number;
  readonly compacted: number;
  readonly families: ReadonlyMap<
    string,
    {
      readonly objects: Map<string, JsonObject>;
      readonly blanks: Map<string, JsonObject>;
      readonly log: Change[];
    }
  >;
}

interface Family {
  readonly objects: Map<string, JsonObject>;
  /** Empty fields that are stored with an object, by its key. */
  readonly blanks: Map<string, JsonObject>;
  readonly log: Change[];
  readonly listeners: Set<(change: Change) => void>;
}

/** `namespace/name`, or the name of a cluster-scoped object. */
export function keyOfObject(object: JsonObject): string {
  const [namespace, name] = [textAt(object, "metadata", "namespace"), textAt(object, "metadata", "name")];
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** All stored objects, by family. Returned objects are frozen. */
export class Store {
  readonly #families = new Map<string, Family>();
  #afterWrite: (family: string, change: Change) => void = () => undefined;
  readonly #waiting: (() => void)[] = [];
  #isDraining = false;
  #revision = 1;
  #compacted = 0;

  /** The latest resource version. */
  get revision(): number {
    return this.#revision;
  }

  get(family: string, key: string): JsonObject | undefined {
    return this.#family(family).objects.get(key);
  }

  /** All objects in the order of their keys. */
  list(family: string): readonly JsonObject[] {
    return inOrder(this.#family(family).objects);
  }

  /** Stores an object under its key; gives it back with its resource version. Equal content changes nothing. */
  put(family: string, object: JsonObject, blanks: JsonObject = {}): JsonObject {
    const key = keyOfObject(object);
    const stored = this.#family(family);
    const previous = stored.objects.get(key);
    if (previous !== undefined) {
      const resourceVersion = textAt(previous, "metadata", "resourceVersion");
      const isEqual = jsonEqual(withMeta(object, { resourceVersion }), previous);
      if (isEqual && jsonEqual(blanks, stored.blanks.get(key))) return previous;
    }
    const next = deepFreeze(withMeta(object, { resourceVersion: String(++this.#revision) }));
    stored.objects.set(key, next);
    stored.blanks.set(key, blanks);
    this.#record(family, { resourceVersion: this.#revision, key, object: next, previous });
    return next;
  }

  /** Removes an object, if it is there. */
  remove(family: string, key: string): void {
    const { objects } = this.#family(family);
    const previous = objects.get(key);
    if (previous === undefined) return;
    objects.delete(key);
    this.#record(family, { resourceVersion: ++this.#revision, key, object: undefined, previous });
  }

  /** Changes the stored objects without a new version or event, as when a schema drops a field of old objects. */
  rewrite(family: string, change: (object: JsonObject) => JsonObject): void {
    const { objects } = this.#family(family);
    for (const [key, object] of objects) objects.set(key, deepFreeze(change(object)));
  }

  /** The objects as they were at a version that is not forgotten. */
  listAt(family: string, resourceVersion: number): readonly JsonObject[] {
    const { objects, log } = this.#family(family);
    const past = new Map(objects);
    for (const change of log.toReversed()) {
      if (change.resourceVersion <= resourceVersion) break;
      if (change.previous === undefined) past.delete(change.key);
      else past.set(change.key, change.previous);
    }
    return inOrder(past);
  }

  /** The changes after a version, oldest first. Throws 410 when some of them are forgotten. */
  changesAfter(family: string, resourceVersion: number): readonly Change[] {
    if (this.isForgotten(resourceVersion))
      throw expired(`too old resource version: ${resourceVersion} (${this.#compacted})`);
    const { log } = this.#family(family);
    return log.slice(log.findLastIndex((change) => change.resourceVersion <= resourceVersion) + 1);
  }

  /** Tells whether a version is from before the last compaction. */
  isForgotten(resourceVersion: number): boolean {
    return resourceVersion < this.#compacted;
  }

  /** Forgets all changes up to now. */
  compact(): void {
    this.#compacted = this.#revision;
    for (const { log } of this.#families.values()) log.length = 0;
  }

  /** Copies the state. */
  backUp(): StoreBackup {
    const families = new Map(
      [...this.#families].map(([name, { objects, blanks, log }]) => [
        name,
        { objects: new Map(objects), blanks: new Map(blanks), log: [...log] },
      ]),
    );
    return { revision: this.#revision, compacted: this.#compacted, families };
  }

  /** Goes back to a copy: versions are given out a second time, and no listener learns of it. */
  restore({ revision, compacted, families }: StoreBackup): void {
    this.#revision = revision;
    this.#compacted = compacted;
    for (const [name, family] of this.#families) {
      const then = families.get(name);
      family.objects.clear();
      family.blanks.clear();
      for (const [key, object] of then?.objects ?? []) family.objects.set(key, object);
      for (const [key, blanks] of then?.blanks ?? []) family.blanks.set(key, blanks);
      family.log.splice(0, family.log.length, ...(then?.log ?? []));
    }
  }

  /** Calls back at every change, before the write is answered; the result ends it. */
  subscribe(family: string, listener: (change: Change) => void): () => void {
    const { listeners } = this.#family(family);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Calls the server's own controllers when a write is complete, so that they may write themselves. */
  onWrite(controllers: (family: string, change: Change) => void): void {
    this.#afterWrite = controllers;
  }

  #record(family: string, change: Change): void {
    const { log, listeners } = this.#family(family);
    log.push(change);
    for (const listener of listeners) listener(change);
    this.#waiting.push(() => this.#afterWrite(family, change));
    if (this.#isDraining) return;
    this.#isDraining = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) next();
    } finally {
      this.#isDraining = false;
    }
  }

  #family(name: string): Family {
    let family = this.#families.get(name);
    if (family === undefined) {
      family = { objects: new Map(), blanks: new Map(), log: [], listeners: new Set() };
      this.#families.set(name, family);
    }
    return family;
  }
}

function inOrder(objects: ReadonlyMap<string, JsonObject>): readonly JsonObject[] {
  const keys = [...objects.keys()].toSorted((left, right) => (left < right ? -1 : 1));
  return keys.map((key) => objects.get(key)).filter((object) => object !== undefined);
}
