/** Builds what all images of a platform stand on: the lowest layer, Node, and the database servers. */
import { mkdir } from "node:fs/promises";
import { unpackForeign } from "@klutch/engines";
import type { Architecture } from "@klutch/oci";
import { basePackages, buildBaseLayer, buildNodeLayer } from "./base-layer.ts";
import type { BuiltLayer } from "./files.ts";
import { buildServerLayer } from "./server-layer.ts";
import { type ServerName, serverSets } from "./server-sets.ts";

/** The layers of one platform. */
export interface Foundation {
  readonly architecture: Architecture;
  readonly base: BuiltLayer;
  readonly node: BuiltLayer;
  /** Layers of the requested servers. */
  readonly servers: ReadonlyMap<ServerName, BuiltLayer>;
}

/** Builds them in `folder`, which is made. Throws `AptFault` when Debian packages cannot be had. */
export async function buildFoundation(
  architecture: Architecture,
  names: ReadonlySet<ServerName>,
  folder: string,
  say: (line: string) => void,
): Promise<Foundation> {
  await mkdir(folder);
  const sets = serverSets.filter(({ name }) => names.has(name));
  const wanted = sets.flatMap(({ files, libraries }) => [...Object.keys(files), ...libraries]);
  const packages = await unpackForeign([...new Set([...basePackages, ...wanted])], folder, {
    architecture,
    say: (line) => say(`${architecture}: ${line}`),
  });
  const base = await buildBaseLayer(packages);
  // Each has what those below it lack; the sets come from the lowest.
  const below = new Set(base.libraries);
  const servers = new Map<ServerName, BuiltLayer>();
  for (const set of sets) {
    const layer = await buildServerLayer(set, packages, below);
    for (const library of layer.libraries) below.add(library);
    servers.set(set.name, layer);
  }
  say(`${architecture}: packing Node …`);
  return { architecture, base, node: await buildNodeLayer(architecture, folder), servers };
}
