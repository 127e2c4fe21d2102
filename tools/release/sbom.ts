/** Lists what an image is made of, as SPDX 2.3 in JSON. */
import type { UnpackedPackage } from "@klutch/engines";
import { digestOf } from "@klutch/oci";
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

/** Returns the document. Its namespace follows from its content, so no two different ones share one. */
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
