/** Builds one image for one platform, and the documents about it. */
import { klutchVersion, runtimeUser } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import {
  type Architecture,
  buildImage,
  buildReferrer,
  buildXpkg,
  type Image,
  type ImageParts,
  jsonBlob,
  type Referrer,
} from "@klutch/oci";
import { programPath } from "./app-layer.ts";
import { type Foundation, nodePath } from "./foundation.ts";
import type { BuiltLayer } from "./files.ts";
import type { ImageDefinition, ProgramDefinition } from "./images.ts";
import { provenanceOf, type Source, spdxDocument } from "./documents.ts";

/** An image of one platform. */
export interface BuiltImage {
  readonly architecture: Architecture;
  readonly image: Image;
  /** Its contents (SPDX), and how it was built (SLSA provenance). */
  readonly referrers: readonly Referrer[];
}

/** Builds the image of a definition; `app` has its program, if it has one, and `beside` other files of ours. The same source and packages give the same digests. */
export function buildReleaseImage(
  { name, description, program, documents }: ImageDefinition,
  app: BuiltLayer | undefined,
  foundation: Foundation,
  source: Source,
  beside: readonly BuiltLayer[] = [],
): BuiltImage {
  const { architecture, base, node } = foundation;
  const servers = program?.servers?.flatMap((server) => foundation.servers.get(server) ?? []) ?? [];
  // Layers that several images have come first: a node keeps them once.
  const layers = app === undefined ? [] : [base, node, ...servers, app, ...beside];
  const annotations = {
    "org.opencontainers.image.title": name,
    "org.opencontainers.image.description": description,
    "org.opencontainers.image.version": klutchVersion,
    "org.opencontainers.image.revision": source.revision,
    "org.opencontainers.image.created": source.committedAt,
    "org.opencontainers.image.licenses": "Apache-2.0",
  };
  const parts: ImageParts = {
    architecture,
    layers: layers.map(({ layer }) => layer),
    config: { ...(program === undefined ? {} : runtimeOf(program)), Labels: annotations },
    annotations,
  };
  const image =
    documents === undefined
      ? buildImage(parts)
      : buildXpkg(documents.map((document) => formatYaml(document)).join("---\n"), parts);
  const contents = {
    name,
    version: klutchVersion,
    architecture,
    debian: layers.flatMap(({ debian }) => debian),
    npm: layers.flatMap(({ npm }) => npm),
    created: source.committedAt,
  };
  const statement = provenanceOf(image.manifest.digest, contents, source);
  const referrers = [
    jsonBlob(spdxDocument(contents), "application/spdx+json"),
    jsonBlob(statement, "application/vnd.in-toto+json"),
  ].map((document) => buildReferrer(image.manifest, document));
  return { architecture, image, referrers };
}

function runtimeOf({ app, env = {} }: ProgramDefinition): ImageParts["config"] {
  const own = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return {
    Entrypoint: [`/${nodePath}`, `/${programPath(app)}`],
    User: `${runtimeUser}:${runtimeUser}`,
    WorkingDir: "/",
    // A user chosen at run time has no home in the image's accounts.
    Env: ["PATH=/usr/bin:/bin", "HOME=/tmp", "NODE_ENV=production", ...own],
  };
}
