/** Fetches a prebuilt server from a mirror, if one is configured and its checksum is pinned. */
import { createHash } from "node:crypto";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { modulesFolder } from "./build.ts";
import type { EngineDefinition } from "./catalog.ts";
import { EngineError } from "./errors.ts";

/** Name of the file on the mirror, and key of its checksum. */
export function prebuiltName(engine: EngineDefinition): string {
  return `${engine.name}-${engine.version}-${process.platform}-${process.arch}`;
}

/** The checksums in `engines/prebuilt.json`: hex SHA-256 by `prebuiltName`. */
export async function pinnedChecksums(): Promise<ReadonlyMap<string, string>> {
  const value: unknown = JSON.parse(await readFile(join(modulesFolder, "prebuilt.json"), "utf8"));
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return new Map(entries.map(([name, checksum]) => [name, String(checksum)]));
}

/**
 * Writes the program into `folder`; false when no mirror is configured, nothing is pinned, or the mirror cannot be reached.
 * Throws `EngineError` ChecksumMismatch when the mirror serves something else than what is pinned.
 */
export async function fetchPrebuilt(
  engine: EngineDefinition,
  folder: string,
  options: {
    readonly mirrorUrl: string | undefined;
    readonly checksums: ReadonlyMap<string, string>;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<boolean> {
  const name = prebuiltName(engine);
  const wanted = options.checksums.get(name);
  // Manifests that belong to the program come only with its module.
  if (options.mirrorUrl === undefined || wanted === undefined || engine.extraFolders !== undefined)
    return false;
  let bytes: Uint8Array;
  try {
    const response = await fetch(
      `${options.mirrorUrl}/${name}`,
      options.signal === undefined ? {} : { signal: options.signal },
    );
    if (!response.ok) return false;
    bytes = await response.bytes();
  } catch {
    options.signal?.throwIfAborted();
    return false;
  }
  const actual = createHash("sha256").update(bytes).digest("hex");
  if (actual !== wanted) {
    throw new EngineError(
      "ChecksumMismatch",
      `the mirror's ${name} has SHA-256 ${actual}, but ${wanted} is pinned in engines/prebuilt.json; not using it`,
    );
  }
  const path = join(folder, engine.name);
  await writeFile(path, bytes);
  await chmod(path, 0o755);
  return true;
}
