/** What all images of a platform stand on: the lowest layer, Node, and the database servers. */
import { mkdir } from "node:fs/promises";
import { unpackForeign } from "@klutch/engines";
import type { Architecture } from "@klutch/oci";
import { type BaseLayer, basePackages, buildBaseLayer } from "./base-layer.ts";
import { buildNodeLayer, type NodeLayer } from "./node-layer.ts";
import { buildServerLayer, type ServerLayer } from "./server-layer.ts";
import { packagesOfSets, type ServerName, type ServerSet, serverSets } from "./server-sets.ts";

/** The layers of one platform. */
export interface Foundation {
  readonly architecture: Architecture;
  readonly base: BaseLayer;
  readonly node: NodeLayer;
  /** Those that were asked for. */
  readonly servers: ReadonlyMap<ServerName, ServerLayer>;
}

/** Builds them in `folder`, which is made. Throws `AptFault` when Debian packages cannot be had. */
export async function buildFoundation(
  architecture: Architecture,
  servers: ReadonlySet<ServerName>,
  folder: string,
  say: (line: string) => void,
): Promise<Foundation> {
  await mkdir(folder);
  const sets = serverSets.filter(({ name }) => servers.has(name));
  const wanted = [...basePackages, ...packagesOfSets(sets)];
  const packages = await unpackForeign(wanted, folder, {
    architecture,
    say: (line) => say(`${architecture}: ${line}`),
  });
  const base = await buildBaseLayer(packages);
  const layers = await serverLayers(sets, packages, base);
  say(`${architecture}: packing Node …`);
  return { architecture, base, node: await buildNodeLayer(architecture, folder), servers: layers };
}

/** Each has what those below it lack; the sets come from the lowest. */
async function serverLayers(
  sets: readonly ServerSet[],
  packages: Parameters<typeof buildServerLayer>[1],
  base: BaseLayer,
): Promise<ReadonlyMap<ServerName, ServerLayer>> {
  const below = new Set(base.libraries);
  const layers = new Map<ServerName, ServerLayer>();
  for (const set of sets) {
    const layer = await buildServerLayer(set, packages, below);
    for (const library of layer.libraries) below.add(library);
    layers.set(set.name, layer);
  }
  return layers;
}
