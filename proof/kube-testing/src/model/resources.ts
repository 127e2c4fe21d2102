/** Which resources the model serves, and the rules of each. */
import type { ResourceType } from "@klutch/kube-core";
import { type JsonObject, toWire, isObject } from "./json.ts";
import { type Atom, objectAtom } from "./merge-schema.ts";
import type { NameRule } from "./metadata.ts";

/** Declares a resource to the model. */
export interface ResourceDefinition {
  readonly type: ResourceType;
  /** Whether `/status` is served and the main endpoint ignores `status`. */
  readonly statusSubresource: boolean;
  /**
   * Structural schema (OpenAPI v3 with `x-kubernetes-*`): unknown fields are pruned, defaults filled in, list types honoured, values
   * validated. Without it everything is kept, maps are merged and lists are atomic.
   */
  readonly schema?: object | undefined;
  /** Whether `metadata.generation` is kept. Default true outside the core group. */
  readonly tracksGeneration?: boolean | undefined;
  /** Whether a replace without `resourceVersion` overwrites (built-in kinds) or is refused (custom ones). Default false. */
  readonly allowsUnconditionalUpdate?: boolean | undefined;
  /** A kind that is compiled into the server: empty fields vanish, a wrong type is 400. Default false. */
  readonly isCompiled?: boolean | undefined;
  /** Default `subdomain`. */
  readonly nameRule?: NameRule | undefined;
  /** Changes an object as it is read from a request, before anybody owns its fields. */
  readonly decode?: ((object: JsonObject) => JsonObject) | undefined;
  /** Fills in what the server sets itself, before validation. `previous` is undefined for a create. */
  readonly prepare?: ((next: JsonObject, previous: JsonObject | undefined) => JsonObject) | undefined;
  /** Problems beyond the schema; any refuses the write with 422. */
  readonly validate?: ((next: JsonObject, previous: JsonObject | undefined) => readonly string[]) | undefined;
}

/** A resource with its defaults resolved. */
export interface Served {
  readonly type: ResourceType;
  /** Versions of one resource share their objects. */
  readonly family: string;
  readonly statusSubresource: boolean;
  readonly schema: JsonObject | undefined;
  readonly atom: Atom;
  readonly tracksGeneration: boolean;
  readonly allowsUnconditionalUpdate: boolean;
  readonly isCompiled: boolean;
  readonly nameRule: NameRule;
  readonly decode: (object: JsonObject) => JsonObject;
  readonly prepare: (next: JsonObject, previous: JsonObject | undefined) => JsonObject;
  readonly validate: (next: JsonObject, previous: JsonObject | undefined) => readonly string[];
}

/** `plural.group`, or the plural of the core group. */
export function familyOf(type: Pick<ResourceType, "group" | "plural">): string {
  return type.group === "" ? type.plural : `${type.plural}.${type.group}`;
}

function resolve(definition: ResourceDefinition): Served {
  const { type, statusSubresource } = definition;
  const schema = definition.schema === undefined ? undefined : toWire(definition.schema);
  const structural = isObject(schema) ? schema : undefined;
  return {
    type,
    family: familyOf(type),
    statusSubresource,
    schema: structural,
    atom: objectAtom(structural),
    tracksGeneration: definition.tracksGeneration ?? type.group !== "",
    allowsUnconditionalUpdate: definition.allowsUnconditionalUpdate ?? false,
    isCompiled: definition.isCompiled ?? false,
    nameRule: definition.nameRule ?? "subdomain",
    decode: definition.decode ?? ((object) => object),
    prepare: definition.prepare ?? ((next) => next),
    validate: definition.validate ?? (() => []),
  };
}

/** The served resources by group, version and plural. */
export class ResourceTable {
  readonly #served = new Map<string, Served>();

  register(definition: ResourceDefinition): Served {
    const served = resolve(definition);
    this.#served.set(key(served.type), served);
    return served;
  }

  /** Stops serving all versions of a resource but `keep`. */
  unregister(family: string, keep: ReadonlySet<string> = new Set()): void {
    for (const [id, served] of this.#served) {
      if (served.family === family && !keep.has(served.type.version)) this.#served.delete(id);
    }
  }

  find(type: Pick<ResourceType, "group" | "version" | "plural">): Served | undefined {
    return this.#served.get(key(type));
  }

  /** Any served version of a resource. */
  ofFamily(family: string): Served | undefined {
    return this.#served.values().find((served) => served.family === family);
  }

  all(): readonly Served[] {
    return [...this.#served.values()];
  }
}

function key(type: Pick<ResourceType, "group" | "version" | "plural">): string {
  return `${type.group}/${type.version}/${type.plural}`;
}
