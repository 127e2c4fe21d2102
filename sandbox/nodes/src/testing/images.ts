/** A small image for Pods of tests: one static program that is a shell, a web server and its client. */
import { readFile } from "node:fs/promises";
import { resolveDebian } from "@klutch/engines";
import { buildImage, type Image, plainLayerOf } from "@klutch/oci";

/** Text that the image's web server serves. */
export const greeting = "served by a Pod\n";

/** Builds an image for this machine. Its program is `/bin/busybox`, its user 65532, and it serves `greeting` on port 8080. */
export async function webImage(): Promise<Image> {
  const busybox = await readFile((await resolveDebian("busybox")).path("busybox"));
  const layer = plainLayerOf([
    { path: "bin/busybox", content: busybox, mode: 0o755 },
    { path: "www/index.html", content: Buffer.from(greeting) },
  ]);
  return buildImage({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    layers: [layer],
    config: {
      Entrypoint: ["/bin/busybox"],
      User: "65532:65532",
    },
  });
}
