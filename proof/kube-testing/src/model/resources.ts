/** Which resources the model serves, and the rules of each. */
import { customResourceDefinitions, isDnsSubdomain, type ResourceType } from "@klutch/kube-core";
import { SchemaReader } from "@klutch/schema";
import { type JsonObject, toWire, isObject } from "./json.ts";
import { type Atom, objectAtom } from "./merge-schema.ts";

/** Declares a resource to the model. */
export interface ResourceDefinition {
  readonly type: ResourceType;
  /** True if `/status` is served and the main endpoint ignores `status`. */
  readonly statusSubresource: boolean;
  /**
   * Structural schema (OpenAPI v3 with `x-kubernetes-*`): unknown fields are pruned, defaults filled in, list types honoured, values
   * validated. Without it everything is kept, maps are merged and lists are atomic.
   */
  readonly schema?: object;
  /** True if `metadata.generation` is kept. Default true outside the core group. */
  readonly tracksGeneration?: boolean;
  /** True if a replace without `resourceVersion` overwrites (built-in kinds), false if it is refused (custom ones). Default false. */
  readonly allowsUnconditionalUpdate?: boolean;
  /** A kind that is compiled into the server: empty fields vanish, a wrong type is 400. Default false. */
  readonly isCompiled?: boolean;
  /** Tells whether a name may be given. Default: names of DNS. */
  readonly nameRule?: (name: string) => boolean;
  /** Changes an object as it is read from a request, before its fields have owners. */
  readonly decode?: (object: JsonObject) => JsonObject;
  /** Fills in the fields that the server sets itself, before validation. `previous` is undefined for a create. */
  readonly prepare?: (next: JsonObject, previous: JsonObject | undefined) => JsonObject;
  /** Problems beyond the schema; any refuses the write with 422. */
  readonly validate?: (next: JsonObject, previous: JsonObject | undefined) => readonly string[];
}

/** A resource with its defaults resolved. */
export interface Served extends Required<Omit<ResourceDefinition, "schema">> {
  /** Versions of one resource share their objects. */
  readonly family: string;
  readonly schema: JsonObject | undefined;
  readonly atom: Atom;
  /** Caches the types that it has read from the schema. */
  readonly reader: SchemaReader;
}

/** `plural.group`, or the plural of the core group. */
export function familyOf(type: Pick<ResourceType, "group" | "plural">): string {
  return type.group === "" ? type.plural : `${type.plural}.${type.group}`;
}

/** The family of CustomResourceDefinitions. */
export const crdFamily: string = familyOf(customResourceDefinitions);

function resolve(definition: ResourceDefinition): Served {
  const { type } = definition;
  const schema = definition.schema === undefined ? undefined : toWire(definition.schema);
  const structural = isObject(schema) ? schema : undefined;
  return {
    tracksGeneration: type.group !== "",
    allowsUnconditionalUpdate: false,
    isCompiled: false,
    nameRule: isDnsSubdomain,
    decode: (object) => object,
    prepare: (next) => next,
    validate: () => [],
    ...definition,
    family: familyOf(type),
    schema: structural,
    atom: objectAtom(structural),
    reader: new SchemaReader(),
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
