/** Reads the flags of `npm run release:build`, which docs/release.md lists in this order. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseRegistry, type Registry, releaseRegistry } from "@klutch/api";
import type { Architecture } from "@klutch/oci";
import { repositoryRoot } from "../root.ts";
import { ReleaseError } from "./errors.ts";
import { allPlatforms, type Platform, platformName } from "./executables-archive.ts";
import { type ImageDefinition, imageDefinitions } from "./images.ts";
import { type Sign, signWith } from "./signing.ts";

/** Chooses the parts of a release, and its destination. */
export interface ReleaseOptions {
  /** Folder of the release. */
  readonly out: string;
  /** Registry in which the artefacts will be published. */
  readonly registry: Registry;
  readonly architectures: readonly Architecture[];
  readonly definitions: readonly ImageDefinition[];
  /** Platforms of the executables. */
  readonly platforms: readonly Platform[];
  /** Signs images, packages and charts. */
  readonly sign?: Sign | undefined;
  /**
   * A program that signs executables for macOS and Windows, in place: its arguments are the file and its platform, such as `darwin/arm64`. Without
   * it macOS programs are signed ad hoc, and Windows programs not at all.
   */
  readonly signExecutables?: string | undefined;
  /** False when flags chose a part of the release. */
  readonly isWhole: boolean;
  /** Receives progress, a line each. */
  readonly say: (line: string) => void;
}

/** The flags by their names, without the dashes. */
export const releaseFlags = {
  out: { type: "string" },
  registry: { type: "string" },
  architecture: { type: "string", multiple: true },
  image: { type: "string", multiple: true },
  executable: { type: "string", multiple: true },
  "sign-command": { type: "string" },
  "sign-executables-command": { type: "string" },
} as const;

const allArchitectures: readonly Architecture[] = ["amd64", "arm64"];

/** Reads this process's arguments. Throws for an unknown flag or value, and for a signer that has nothing to sign. */
export function readReleaseOptions(say: (line: string) => void): ReleaseOptions {
  const { values } = parseArgs({ options: releaseFlags });
  const { architecture, image, executable, "sign-command": signer } = values;
  const registry = parseRegistry(values.registry ?? releaseRegistry);
  const architectures = chosen("architecture", allArchitectures, (each) => each, architecture);
  const definitions = chosen("image", imageDefinitions(registry), ({ name }) => name, image);
  const platforms = chosen("executable", allPlatforms, platformName, executable);
  const namesImages = architecture !== undefined || image !== undefined;
  const options: ReleaseOptions = {
    out: values.out ?? join(repositoryRoot, "dist", "release"),
    registry,
    architectures,
    // A flag of the one kind leaves the other kind out, unless it is named, too.
    definitions: namesImages || executable === undefined ? definitions : [],
    platforms: executable !== undefined || !namesImages ? platforms : [],
    sign: signer === undefined ? undefined : signWith(signer),
    signExecutables: values["sign-executables-command"],
    isWhole: !namesImages && executable === undefined,
    say,
  };
  if (options.sign !== undefined && options.definitions.length === 0)
    throw new ReleaseError("--sign-command: this build has no image to sign; name one by --image");
  if (options.signExecutables !== undefined && options.platforms.every(({ os }) => os === "linux"))
    throw new ReleaseError(
      "--sign-executables-command: this build has no executable for macOS or Windows to sign; name one by --executable",
    );
  return options;
}

/** Returns those that the flag names; all without it. */
function chosen<T>(
  flag: string,
  all: readonly T[],
  nameOf: (each: T) => string,
  names: readonly string[] | undefined,
): readonly T[] {
  const wrong = names?.find((name) => !all.some((each) => nameOf(each) === name));
  if (wrong !== undefined)
    throw new ReleaseError(
      `--${flag}: is ${JSON.stringify(wrong)}, expected one of ${all.map(nameOf).join(", ")}`,
    );
  return names === undefined ? all : all.filter((each) => names.includes(nameOf(each)));
}
