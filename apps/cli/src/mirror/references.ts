/** References of manifests to artefacts. */
import type { Registry } from "@klutch/api";
import type { MirroredImage } from "@klutch/oci";
import { CliError } from "../errors.ts";

/**
 * The text with every artefact named in `registry`, by digest. The digest says which one a reference means, so it does not matter which
 * registry it named before. Throws `CliError` when a reference is left that has no digest or another one.
 */
export function renamed(
  text: string,
  file: string,
  images: readonly MirroredImage[],
  registry: Registry,
): string {
  const known = new Set(images.map(({ name, tag, digest }) => `${name}:${tag}@${digest}`));
  const names = images.map(({ name, tag }) => `${name}:${tag}`).toSorted((a, b) => b.length - a.length);
  if (names.length === 0) return text;
  const reference = new RegExp(
    `([^\\s"'=]+?/)(${names.map(escaped).join("|")})(@[a-z0-9]+:[0-9a-f]+)?(?![\\w.-])`,
    "g",
  );
  return text.replaceAll(reference, (whole: string, _: string, name: string, digest: string | undefined) => {
    if (!known.has(`${name}${digest ?? ""}`))
      throw new CliError(
        "Manifest",
        `${file} names ${whole}, which the archive does not contain. Download and unpack the archive again.`,
      );
    return `${registry}/${name}${digest ?? ""}`;
  });
}

const escaped = (text: string): string => text.replaceAll(/[.\\/^$*+?()[\]{}|-]/g, String.raw`\$&`);
