/** Fetches servers that their project publishes in an archive, if this machine reaches it and the checksum is the pinned one. */
import { createWriteStream } from "node:fs";
import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { EnginePlace } from "./build.ts";
import { run, wordsOf } from "./environment.ts";
import { requireDigest } from "./kept-files.ts";
import pins from "../pins/prebuilt.json" with { type: "json" };

/** The archive of one module's servers; `sandbox/engines/pins/prebuilt.json` holds one for each module that has any. */
export interface PinnedArchive {
  readonly version: string;
  /** URL of its folder, without the file's name. */
  readonly url: string;
  /** Folder of the programs in it. */
  readonly folder: string;
  /** Hex SHA-512 by file name. */
  readonly sha512: Readonly<Record<string, string>>;
}

/** Base URL that means: do not try, build. */
const noMirror = "off";

/** A host that does not answer at once is not waited for: building takes minutes, not hours. */
const answerWithinMs = 4_000;
const silenceMs = 10_000;

/** The archives by module. */
export const pinnedArchives: ReadonlyMap<string, PinnedArchive> = new Map(Object.entries(pins));

/** Returns the name of the archive for a machine, if there is one. */
export function archiveName(
  archive: PinnedArchive,
  machine: { readonly platform: string; readonly arch: string },
): string | undefined {
  const arch = machine.arch === "x64" ? "amd64" : machine.arch;
  return Object.keys(archive.sha512).find((name) => name.endsWith(`-${machine.platform}-${arch}.tar.gz`));
}

/**
 * Puts the programs into the targets' folders; false when there is no archive for this machine, or its host does not answer at once.
 * Throws `EngineError` ChecksumMismatch when the host serves something else than the pinned archive, which is never run.
 */
export async function fetchPrebuilt(
  targets: readonly EnginePlace[],
  options: {
    readonly archive: PinnedArchive | undefined;
    /** Base URL to use instead of the archive's own, or `noMirror`. */
    readonly mirrorUrl: string | undefined;
    readonly say: (line: string) => void;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<boolean> {
  const { archive, mirrorUrl, say, signal } = options;
  const [first] = targets;
  const name = archive === undefined ? undefined : archiveName(archive, process);
  if (archive === undefined || name === undefined || first === undefined || mirrorUrl === noMirror)
    return false;
  const url = `${mirrorUrl ?? archive.url}/${name}`;
  const folder = join(first.folder, ".download");
  await mkdir(folder);
  try {
    const file = join(folder, name);
    try {
      await download(url, file, signal);
    } catch (error) {
      signal?.throwIfAborted();
      const reason = wordsOf(error instanceof Error ? (error.cause ?? error) : error);
      say(`${url} cannot be had (${reason}); building instead`);
      return false;
    }
    const pin = `is pinned in sandbox/engines/pins/prebuilt.json for ${url}`;
    const digest = { algorithm: "sha512", hex: archive.sha512[name] ?? "" } as const;
    await requireDigest(file, digest, `${pin} (KLUTCH_ENGINES_URL=${noMirror} builds instead)`);
    const members = targets.map(({ engine }) => `${archive.folder}/${engine.name}`);
    await run("tar", ["-xzf", file, "-C", folder, "--no-same-owner", ...members]);
    for (const { engine, folder: target } of targets) {
      await chmod(join(folder, archive.folder, engine.name), 0o755);
      await rename(join(folder, archive.folder, engine.name), join(target, engine.name));
    }
    return true;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes the file. Throws when the host refuses, does not answer at once, or falls silent. */
async function download(url: string, file: string, signal: AbortSignal | undefined): Promise<void> {
  const stop = new AbortController();
  const refuse = (): void => stop.abort(new Error("it does not answer"));
  let timer = setTimeout(refuse, answerWithinMs);
  try {
    const both = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
    const response = await fetch(url, { signal: both });
    if (!response.ok || response.body === null) throw new Error(`it answers ${response.status}`);
    const watched = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of body) {
        clearTimeout(timer);
        timer = setTimeout(refuse, silenceMs);
        yield chunk;
      }
    };
    await pipeline(response.body, watched, createWriteStream(file));
  } finally {
    clearTimeout(timer);
  }
}
