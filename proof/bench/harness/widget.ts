/** The resources the benchmarks sync: namespaced kinds with a spec of a chosen size, whose contents are random, but the same for the same seed. */
import type { Random } from "@klutch/kube";
import type { DynamicObject, KubeObject, ObjectRef, ResourceType } from "@klutch/kube-core";
import { crdObject, objectOfType } from "@klutch/kube-testing";

/** API group of all benchmark kinds. */
export const benchGroup = "bench.klutch.example";

/** One kind: where it is served, and its CRD. */
export interface WidgetKind {
  readonly type: ResourceType;
  /** Also the name of its export and binding. */
  readonly crdName: string;
  readonly crd: KubeObject;
}

const text = { type: "string" };
const properties = {
  spec: {
    type: "object",
    properties: {
      size: { type: "integer" },
      text,
      blob: text,
      // Left empty by users; a controller of the provider fills it in.
      providerRef: text,
      tier: { type: "string", default: "standard" },
    },
  },
  status: { type: "object", properties: { observed: { type: "integer" }, message: text } },
};

/** The kind number `index`: Widget, Widget1, Widget2, … */
export function widgetKind(index: number): WidgetKind {
  const suffix = index === 0 ? "" : String(index);
  const type: ResourceType = {
    group: benchGroup,
    version: "v1",
    plural: `widget${suffix}s`,
    kind: `Widget${suffix}`,
    namespaced: true,
  };
  return {
    type,
    crdName: `${type.plural}.${benchGroup}`,
    crd: crdObject(type, { properties, hasStatus: true }),
  };
}

/** The kind that nearly all benchmarks use. */
export const widgets: ResourceType = widgetKind(0).type;

/** The contents of a new widget. */
export interface WidgetContents {
  readonly random: Random;
  /** Size of text and incompressible data together, half each. */
  readonly bytes: number;
}

/** A widget with random contents. */
export function widget({ namespace, name }: ObjectRef, { random, bytes }: WidgetContents): DynamicObject {
  const half = Math.floor(bytes / 2);
  const spec = { size: 1, text: randomText(random, half), blob: randomBase64(random, bytes - half) };
  return objectOfType(widgets, { namespace, name }, { spec });
}

/** Base64 of random bytes: as incompressible as a certificate or a key. */
export function randomBase64(random: Random, length: number): string {
  const bytes = Buffer.alloc(Math.ceil((length * 3) / 4) + 4);
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE((random() * 4_294_967_296) >>> 0, at);
  return bytes.toString("base64").slice(0, length);
}

const words =
  "the claim of a team asks for one more database with backups at night and a plan that fits the load of the shop".split(
    " ",
  );

/** Plain words: as compressible as what people write. */
export function randomText(random: Random, length: number): string {
  const parts: string[] = [];
  for (let size = 0; size < length; ) {
    const word = words[Math.floor(random() * words.length)] ?? "";
    parts.push(word);
    size += word.length + 1;
  }
  return parts.join(" ").slice(0, length);
}
