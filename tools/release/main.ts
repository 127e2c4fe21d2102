/**
 * `npm run release:build`: the images of all programs for all platforms, in `dist/release/images`, and the Crossplane packages in
 * `dist/release/packages`, as OCI layouts; the manifests that install them in `dist/release/bundles`, and the Helm charts in
 * `dist/release/charts`. No Docker: Debian packages come by apt, Node by npm. The same commit and packages give the same bytes.
 *
 *     npm run release:build -- [--out FOLDER] [--registry HOST/PATH] [--architecture amd64] [--image konnector] [--sign-command PROGRAM]
 *                              [--sign-executables-command PROGRAM]
 *
 * Executables for people and the checksums of everything are built with the whole only.
 */
import { parseRegistry } from "@klutch/api";
import type { Architecture } from "@klutch/oci";
import { buildDownloads } from "./downloads.ts";
import { readReleaseFlags } from "./flags.ts";
import { imageDefinitions } from "./images.ts";
import { buildRelease } from "./release.ts";
import { signWith } from "./signing.ts";

const say = (line: string): void => console.log(line);
const allArchitectures: readonly Architecture[] = ["amd64", "arm64"];

try {
  const values = readReleaseFlags();
  const program = values["sign-command"];
  const registry = parseRegistry(values.registry);
  const all = imageDefinitions(registry);
  await buildRelease({
    out: values.out,
    registry,
    architectures: chosen("architecture", allArchitectures, (each) => each, values.architecture),
    definitions: chosen("image", all, ({ name }) => name, values.image),
    sign: program === undefined ? undefined : signWith(program),
    say,
  });
  // Part of a release has no checksums, which are of all of it.
  if (values.image === undefined && values.architecture === undefined)
    await buildDownloads({ out: values.out, signWith: values["sign-executables-command"], say });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** Those that the flag names; all without it. */
function chosen<T>(
  flag: string,
  all: readonly T[],
  nameOf: (each: T) => string,
  names: readonly string[] | undefined,
): readonly T[] {
  const wrong = names?.find((name) => !all.some((each) => nameOf(each) === name));
  if (wrong !== undefined)
    throw new Error(`--${flag}: is ${JSON.stringify(wrong)}, expected one of ${all.map(nameOf).join(", ")}`);
  return names === undefined ? all : all.filter((each) => names.includes(nameOf(each)));
}
