/** The files of an image in a folder, as a container runtime lays its layers one on the other. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { run } from "@klutch/engines";
import { recordAt } from "@klutch/kube-core";
import type { Image } from "@klutch/oci";

/** Unpacks into `root`, which is made. */
export async function unpack(image: Image, root: string): Promise<void> {
  await mkdir(root);
  for (const { bytes } of image.blobs.slice(1)) {
    await writeFile(`${root}.tar.gz`, bytes);
    await run("tar", ["-xzf", `${root}.tar.gz`, "-C", root, "--no-same-owner"]);
  }
  await rm(`${root}.tar.gz`);
}

/** Returns the image's configuration of its containers. */
export function runtimeConfig(image: Image): Readonly<Record<string, unknown>> {
  const config: unknown = JSON.parse(Buffer.from(image.blobs[0]?.bytes ?? []).toString());
  return recordAt(config, "config");
}

/** Its program and arguments. */
export function entrypointOf(image: Image): readonly string[] {
  const entrypoint = runtimeConfig(image)["Entrypoint"];
  return Array.isArray(entrypoint) ? entrypoint.map(String) : [];
}

/** Environment that the image gives. */
export function environmentOf(image: Image): Readonly<Record<string, string>> {
  const env = runtimeConfig(image)["Env"];
  const lines = Array.isArray(env) ? env.map(String) : [];
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}
