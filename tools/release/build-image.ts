/** Builds one image for one platform, and the documents about it. */
import { klutchVersion, runtimeUser } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import {
  type Annotations,
  type Architecture,
  buildImage,
  buildReferrer,
  buildXpkg,
  type Image,
  type ImageParts,
  jsonBlob,
  type Referrer,
} from "@klutch/oci";
import type { AppLayer } from "./app-layer.ts";
import type { Foundation } from "./foundation.ts";
import type { ImageDefinition } from "./images.ts";
import { nodePath } from "./node-layer.ts";
import { provenanceOf, type Source } from "./provenance.ts";
import { type Contents, spdxDocument } from "./sbom.ts";
import type { ServerLayer } from "./server-layer.ts";

/** An image of one platform. */
export interface BuiltImage {
  readonly architecture: Architecture;
  readonly image: Image;
  /** What it is made of (SPDX), and how it was made (SLSA provenance). */
  readonly referrers: readonly Referrer[];
}

/** The image of a definition; `app` is its program, if it has one. The same source and packages give the same digests. */
export function buildReleaseImage(
  definition: ImageDefinition,
  app: AppLayer | undefined,
  foundation: Foundation,
  source: Source,
): BuiltImage {
  const { architecture } = foundation;
  const servers = serversOf(definition, foundation);
  const annotations = annotationsOf(definition, source);
  const parts: ImageParts = {
    architecture,
    layers: app === undefined ? [] : layersOf(app, servers, foundation),
    config: { ...runtimeOf(definition, app), Labels: annotations },
    annotations,
  };
  const { documents } = definition;
  const image =
    documents === undefined
      ? buildImage(parts)
      : buildXpkg(documents.map((document) => formatYaml(document)).join("---\n"), parts);
  const { base, node } = foundation;
  const contents: Contents = {
    name: definition.name,
    version: klutchVersion,
    architecture,
    debian: app === undefined ? [] : [...base.packages, ...servers.flatMap(({ packages }) => packages)],
    npm: app === undefined ? [] : [node.package, ...app.packages],
    created: source.committedAt,
  };
  return { architecture, image, referrers: referrersOf(image, contents, source) };
}

function annotationsOf({ name, description }: ImageDefinition, source: Source): Annotations {
  return {
    "org.opencontainers.image.title": name,
    "org.opencontainers.image.description": description,
    "org.opencontainers.image.version": klutchVersion,
    "org.opencontainers.image.revision": source.revision,
    "org.opencontainers.image.created": source.committedAt,
    "org.opencontainers.image.licenses": "Apache-2.0",
  };
}

/** Layers that several images have come first: a node keeps them once. */
function layersOf(
  app: AppLayer,
  servers: readonly ServerLayer[],
  { base, node }: Foundation,
): ImageParts["layers"] {
  return [base.layer, node.layer, ...servers.map(({ layer }) => layer), app.layer];
}

function runtimeOf({ program }: ImageDefinition, app: AppLayer | undefined): ImageParts["config"] {
  if (app === undefined) return {};
  const env = Object.entries(program?.env ?? {}).map(([name, value]) => `${name}=${value}`);
  return {
    Entrypoint: [`/${nodePath}`, `/${app.program}`],
    User: `${runtimeUser}:${runtimeUser}`,
    WorkingDir: "/",
    // Whoever runs it as another user has no home in its accounts.
    Env: ["PATH=/usr/bin:/bin", "HOME=/tmp", "NODE_ENV=production", ...env],
  };
}

function serversOf({ program }: ImageDefinition, foundation: Foundation): readonly ServerLayer[] {
  return (program?.servers ?? []).map((name) => {
    const layer = foundation.servers.get(name);
    if (layer === undefined) throw new Error(`the layer of ${name} was not built`);
    return layer;
  });
}

function referrersOf(image: Image, contents: Contents, source: Source): readonly Referrer[] {
  const { digest } = image.manifest;
  const documents = [
    jsonBlob(spdxDocument(contents), "application/spdx+json"),
    jsonBlob(provenanceOf(digest, contents, source), "application/vnd.in-toto+json"),
  ];
  return documents.map((document) => buildReferrer(image.manifest, document));
}
