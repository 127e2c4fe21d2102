/** The flags of `npm run release:build`, which docs/release.md lists in this order. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { releaseRegistry } from "@klutch/api";
import { repositoryRoot } from "../root.ts";

/** What they say. */
export interface ReleaseFlags {
  readonly out: string;
  readonly registry: string;
  readonly architecture?: readonly string[] | undefined;
  readonly image?: readonly string[] | undefined;
  readonly executable?: readonly string[] | undefined;
  readonly "sign-command"?: string | undefined;
  readonly "sign-executables-command"?: string | undefined;
}

const options = {
  out: { type: "string", default: join(repositoryRoot, "dist", "release") },
  registry: { type: "string", default: releaseRegistry },
  architecture: { type: "string", multiple: true },
  image: { type: "string", multiple: true },
  executable: { type: "string", multiple: true },
  "sign-command": { type: "string" },
  "sign-executables-command": { type: "string" },
} as const satisfies Record<keyof ReleaseFlags, unknown>;

/** Their names, without the dashes. */
export const releaseFlagNames: readonly string[] = Object.keys(options);

/** Those of this process. Throws for one that there is none of. */
export function readReleaseFlags(): ReleaseFlags {
  return parseArgs({ options }).values;
}
