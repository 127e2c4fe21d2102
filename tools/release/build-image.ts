/** Builds one image for one platform, and the documents about it. */
import { klutchVersion } from "@klutch/api";
import {
  type Architecture,
  buildImage,
  buildReferrer,
  type Image,
  jsonBlob,
  type Referrer,
} from "@klutch/oci";
import type { AppLayer } from "./app-layer.ts";
import { type BaseLayer, runtimeUser } from "./base-layer.ts";
import type { ImageDefinition } from "./images.ts";
import { type NodeLayer, nodePath } from "./node-layer.ts";
import { provenanceOf, type Source } from "./provenance.ts";
import { type Contents, spdxDocument } from "./sbom.ts";

/** What all images of a platform stand on. */
export interface Foundation {
  readonly architecture: Architecture;
  readonly base: BaseLayer;
  readonly node: NodeLayer;
}

/** An image of one platform. */
export interface BuiltImage {
  readonly architecture: Architecture;
  readonly image: Image;
  /** What it is made of (SPDX), and how it was made (SLSA provenance). */
  readonly referrers: readonly Referrer[];
}

/** The image of an app. The same source and packages give the same digests. */
export async function buildAppImage(
  definition: ImageDefinition,
  app: AppLayer,
  foundation: Foundation,
  source: Source,
): Promise<BuiltImage> {
  const { architecture, base, node } = foundation;
  const annotations = {
    "org.opencontainers.image.title": definition.repository,
    "org.opencontainers.image.description": definition.description,
    "org.opencontainers.image.version": klutchVersion,
    "org.opencontainers.image.revision": source.revision,
    "org.opencontainers.image.created": source.committedAt,
    "org.opencontainers.image.licenses": "Apache-2.0",
  };
  const image = buildImage({
    architecture,
    layers: [base.layer, node.layer, app.layer],
    config: {
      Entrypoint: [`/${nodePath}`, `/${app.program}`],
      User: `${runtimeUser}:${runtimeUser}`,
      WorkingDir: "/",
      Env: ["PATH=/usr/bin", "NODE_ENV=production"],
      Labels: annotations,
    },
    annotations,
  });
  const contents: Contents = {
    name: definition.repository,
    version: klutchVersion,
    architecture,
    debian: base.packages,
    npm: [node.package, ...app.packages],
    created: source.committedAt,
  };
  const spdx = jsonBlob(spdxDocument(contents), "application/spdx+json");
  const provenance = jsonBlob(
    provenanceOf(image.manifest.digest, contents, source),
    "application/vnd.in-toto+json",
  );
  const referrers = [spdx, provenance].map((document) => buildReferrer(image.manifest, document));
  return { architecture, image, referrers };
}
