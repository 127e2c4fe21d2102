/** Images from files into containerd. */
import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
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
  archive: Readable | Uint8Array,
): Promise<void> {
  const args = ["--namespace", "k8s.io", "images", "import", "--base-name", repository, "-"];
  const input = archive instanceof Readable ? archive : Readable.from([archive]);
  await runWith(context, { command: context.plan.programs.runtime.path("ctr"), args }, input);
}

function archiveOf(folder: string): Readable {
  return spawn("tar", ["-C", folder, "-cf", "-", "."], { stdio: ["ignore", "pipe", "inherit"] }).stdout;
}
