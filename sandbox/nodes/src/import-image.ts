/** Images from files into containerd. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { NodeError } from "./errors.ts";
import { runWith, type ServerContext } from "./servers.ts";

/** Images to import. */
export interface ImageSource {
  /** An OCI layout: its folder, or an archive of it. */
  readonly path: string;
  /** Repository with its registry, such as `registry.klutch.example/klutch/konnector`; the layout's names are its tags. */
  readonly repository: string;
}

/** Imports them for Pods. Throws `NodeError`. */
export async function importImage(
  context: Pick<ServerContext, "plan" | "namespaces">,
  { path, repository }: ImageSource,
): Promise<void> {
  const about = await stat(path).catch((cause: unknown) => {
    throw new NodeError("BadOption", `path: ${path} is no OCI layout or archive: nothing is there`, {
      cause,
    });
  });
  const archive = about.isDirectory() ? archiveOf(path) : createReadStream(path);
  await importArchive(context, repository, archive);
}

/** The same from memory or a stream. */
export async function importArchive(
  context: Pick<ServerContext, "plan" | "namespaces">,
  repository: string,
  archive: AsyncIterable<Uint8Array> | Uint8Array,
): Promise<void> {
  const args = ["--namespace", "k8s.io", "images", "import", "--base-name", repository, "-"];
  const input = archive instanceof Uint8Array ? [archive] : archive;
  await runWith(context, { command: context.plan.programs.runtime.path("ctr"), args }, input);
}

/** The folder as an archive. Throws `NodeError` CommandFailed when it cannot be read to its end. */
export async function* archiveOf(folder: string): AsyncGenerator<Uint8Array> {
  const child = spawn("tar", ["-C", folder, "-cf", "-", "."], { stdio: ["ignore", "pipe", "pipe"] });
  const closed: Promise<unknown[]> = once(child, "close");
  const ended = Promise.all([closed, text(child.stderr)]);
  // It is awaited when all is read.
  ended.catch(() => undefined);
  const output: AsyncIterable<Uint8Array> = child.stdout;
  yield* output;
  const [[code], complaint] = await ended;
  if (code !== 0) throw new NodeError("CommandFailed", `${folder} cannot be archived: ${complaint.trim()}`);
}
