/**
 * Makes the documents about an image: its contents as SPDX 2.3 in JSON, and how it was built as a statement of in-toto with SLSA provenance, version
 * 1. Neither is signed; the publisher of a release signs them.
 */
import type { UnpackedPackage } from "@klutch/engines";
import { digestOf } from "@klutch/oci";
import { git } from "../checks/tree.ts";
import { type LockedPackage, sha512Of } from "./lock-file.ts";

/** Lists the contents of an image. */
export interface Contents {
  /** Name and version of the image. */
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly debian: readonly Pick<UnpackedPackage, "name" | "version">[];
  readonly npm: readonly LockedPackage[];
  /** Time of the source's commit, in RFC 3339: a document made again from the same source is the same. */
  readonly created: string;
}

/** The source an image was built of. */
export interface Source {
  /** Hash of the commit. */
  readonly revision: string;
  /** Time of the commit, in RFC 3339. */
  readonly committedAt: string;
}

/** Returns the commit that is checked out. */
export function sourceOfRelease(): Source {
  const [revision = "", committedAt = ""] = git("log", "-1", "--format=%H %cI").trim().split(" ");
  return { revision, committedAt: new Date(committedAt).toISOString().replace(".000Z", "Z") };
}

/** Returns the statement about the image of that digest. */
export function provenanceOf(digest: string, contents: Contents, source: Source): object {
  const { name, architecture, debian, npm } = contents;
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name, digest: { sha256: digest.replace(/^sha256:/, "") } }],
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://klutch.anynines.com/release/v1",
        externalParameters: { name, architecture },
        resolvedDependencies: [
          { name: "source", digest: { gitCommit: source.revision } },
          ...debian.map((each) => ({ name: `deb:${each.name}`, annotations: { version: each.version } })),
          ...npm.map((each) => ({
            name: `npm:${each.name}@${each.version}`,
            digest: { sha512: sha512Of(each) },
          })),
        ],
      },
      runDetails: { builder: { id: "https://klutch.anynines.com/release/local" } },
    },
  };
}

/** Returns the list of contents. Its namespace follows from its content, so no two different ones share one. */
export function spdxDocument(contents: Contents): object {
  const { name, version, architecture, created } = contents;
  const locator = `pkg:oci/${name.split("/").at(-1)}?arch=${architecture}&tag=${version}`;
  const root = { ...packageOf("image", name, version, locator), licenseDeclared: "Apache-2.0" };
  const parts = partsOf(contents);
  const relationships = [
    relation("SPDXRef-DOCUMENT", "DESCRIBES", root.SPDXID),
    ...parts.map(({ SPDXID }) => relation(root.SPDXID, "CONTAINS", SPDXID)),
  ];
  const packages = [root, ...parts];
  const hash = digestOf(Buffer.from(JSON.stringify(packages))).slice("sha256:".length);
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `${name}-${version}-${architecture}`,
    documentNamespace: `https://klutch.anynines.com/spdx/${name}/${hash}`,
    creationInfo: { created, creators: ["Tool: klutch-release"] },
    packages,
    relationships,
  };
}

/** Describes the packages of Debian and npm that are in the image. */
function partsOf({ architecture, debian, npm }: Contents): readonly ReturnType<typeof packageOf>[] {
  return [
    ...debian.map(({ name, version }, index) => {
      const locator = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
      return packageOf(`debian-${index}`, name, version, locator);
    }),
    ...npm.map((each, index) => {
      // A scope's `@` is written as `%40` in a package URL.
      const locator = `pkg:npm/${each.name.replace(/^@/, "%40")}@${each.version}`;
      return {
        ...packageOf(`npm-${index}`, each.name, each.version, locator),
        licenseDeclared: each.license ?? "NOASSERTION",
        checksums: [{ algorithm: "SHA512", checksumValue: sha512Of(each) }],
      };
    }),
  ];
}

function packageOf(id: string, name: string, versionInfo: string, locator: string) {
  return {
    SPDXID: `SPDXRef-${id}`,
    name,
    versionInfo,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: "NOASSERTION",
    copyrightText: "NOASSERTION",
    externalRefs: [
      { referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: locator },
    ],
  };
}

function relation(spdxElementId: string, relationshipType: string, relatedSpdxElement: string): object {
  return { spdxElementId, relationshipType, relatedSpdxElement };
}
