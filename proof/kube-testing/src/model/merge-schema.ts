/**
 * Types as server-side apply needs them: which maps and lists are merged, and by which keys. Converts a structural schema as
 * kube-openapi's `schemaconv` does.
 */
import { at, isObject, type Json, type JsonObject, textAt, textsAt } from "./json.ts";
import { fields, metaFields, text } from "./schema-parts.ts";

/** A type; with several parts, the value decides which one applies. */
export interface Atom {
  readonly scalar?: "numeric" | "string" | "boolean" | "untyped" | undefined;
  readonly list?: ListAtom | undefined;
  readonly map?: MapAtom | undefined;
}

/** A list: one value, or items that are told apart by `keys`, or a set when there are none. */
export interface ListAtom {
  readonly isAtomic: boolean;
  readonly keys: readonly string[];
  readonly elementType: Atom;
}

/** An object: one value, or merged field by field. */
export interface MapAtom {
  readonly isAtomic: boolean;
  readonly fields: ReadonlyMap<string, { readonly type: Atom; readonly default?: Json | undefined }>;
  /** Type of fields that are not named; undefined when they are not allowed. */
  readonly elementType: Atom | undefined;
}

const untyped: Atom = {
  scalar: "untyped",
  get list(): ListAtom {
    return { isAtomic: true, keys: [], elementType: untyped };
  },
  get map(): MapAtom {
    return { isAtomic: true, fields: new Map(), elementType: untyped };
  },
};

const deducedMap: MapAtom = {
  isAtomic: false,
  fields: new Map(),
  get elementType(): Atom {
    return deduced;
  },
};

/** Type of values without a schema: objects are merged, lists are one value. */
const deduced: Atom = {
  scalar: "untyped",
  list: { isAtomic: true, keys: [], elementType: untyped },
  map: deducedMap,
};

/** The type of whole objects with this structural schema; without one, everything is deduced. */
export function objectAtom(schema: JsonObject | undefined): Atom {
  const map = schema === undefined ? deducedMap : (atomOf(schema, false).map ?? deducedMap);
  const fields = new Map(map.fields);
  for (const name of ["apiVersion", "kind"]) fields.set(name, { type: { scalar: "string" } });
  fields.set("metadata", { type: metadataAtom });
  return { map: { ...map, fields } };
}

const metadataAtom = atomOf(fields({ ...metaFields, selfLink: text }), false);

/** Once a schema keeps unknown fields, so do all below it. */
function atomOf(schema: JsonObject, keepsUnknown: boolean): Atom {
  const keeps = keepsUnknown || schema["x-kubernetes-preserve-unknown-fields"] === true;
  switch (textAt(schema, "type")) {
    case "object":
      return { map: mapOf(schema, keeps) };
    case "array":
      return { list: listOf(schema, keeps) };
    case "integer":
    case "number":
      return { scalar: "numeric" };
    case "boolean":
      return { scalar: "boolean" };
    case "string":
      return { scalar: ["", "byte"].includes(textAt(schema, "format")) ? "string" : "untyped" };
    default:
      return { scalar: "untyped", list: listOf(schema, keeps), map: mapOf(schema, keeps) };
  }
}

function mapOf(schema: JsonObject, keeps: boolean): MapAtom {
  const properties = at(schema, "properties");
  const named = isObject(properties) ? Object.entries(properties) : [];
  const members = named.map(([name, member]) => {
    const type = isObject(member) ? atomOf(member, keeps) : deduced;
    return [name, { type, default: at(member, "default") }] as const;
  });
  const rest = schema["additionalProperties"];
  const elementType = isObject(rest)
    ? atomOf(rest, keeps)
    : rest === true || (rest === undefined && (keeps || named.length === 0))
      ? deduced
      : undefined;
  return { isAtomic: schema["x-kubernetes-map-type"] === "atomic", fields: new Map(members), elementType };
}

function listOf(schema: JsonObject, keeps: boolean): ListAtom {
  const { items } = schema;
  const kind = textAt(schema, "x-kubernetes-list-type");
  return {
    isAtomic: kind !== "map" && kind !== "set",
    keys: kind === "map" ? textsAt(schema, "x-kubernetes-list-map-keys") : [],
    elementType: isObject(items) ? atomOf(items, keeps) : untyped,
  };
}
