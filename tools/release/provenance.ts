/** Says how an image was made: a statement of in-toto with SLSA provenance, version 1. It is not signed; the publisher of a release signs it. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { repositoryRoot } from "../root.ts";
import { sha512Of } from "./lock-file.ts";
import type { Contents } from "./sbom.ts";

const run = promisify(execFile);

/** The source an image was built of. */
export interface Source {
  /** Hash of the commit. */
  readonly revision: string;
  /** Time of the commit, in RFC 3339. */
  readonly committedAt: string;
}

/** Returns the commit that is checked out. */
export async function sourceOfRelease(): Promise<Source> {
  const { stdout } = await run("git", ["log", "-1", "--format=%H %cI"], { cwd: repositoryRoot });
  const [revision = "", committedAt = ""] = stdout.trim().split(" ");
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
