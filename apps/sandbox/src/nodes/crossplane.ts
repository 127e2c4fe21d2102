/** Crossplane in Pods: its own chart, and an image of its program as the engines build it. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { engineDefinition, resolveEngine } from "@klutch/engines";
import type { NodeRegistry } from "@klutch/nodes";
import { buildImage, type Image, plainLayerOf, pushImage, type TarEntry } from "@klutch/oci";
import type { Helm } from "./helm.ts";

const repository = "crossplane/crossplane";
const namespace = "crossplane-system";
/** What it installs into a cluster; its program looks for it at the root. */
const shipped = ["crds", "webhookconfigurations"];

/** Installs the release that the engines pin, and waits until its Pods are ready. `folder` is for files that are needed meanwhile. */
export async function installCrossplane(helm: Helm, registry: NodeRegistry, folder: string): Promise<void> {
  const program = await resolveEngine("crossplane");
  const { version: tag } = engineDefinition("crossplane");
  await pushImage(await crossplaneImage(program), { registry: registry.url, repository, tag });
  const version = tag.replace(/^v/, "");
  const chart = join(dirname(program), "cluster/charts/crossplane");
  await helm("package", chart, "--version", version, "--app-version", version, "--destination", folder);
  const image = `image.repository=${registry.host}/${repository}`;
  const where = ["--namespace", namespace, "--create-namespace", "--wait", "--timeout", "180s"];
  await helm("install", "crossplane", join(folder, `crossplane-${version}.tgz`), ...where, "--set", image);
}

async function crossplaneImage(program: string): Promise<Image> {
  const files: TarEntry[] = [{ path: "bin/crossplane", content: await readFile(program), mode: 0o755 }];
  for (const name of shipped) {
    const source = join(dirname(program), "cluster", name);
    for (const file of (await readdir(source)).toSorted())
      files.push({ path: `${name}/${file}`, content: await readFile(join(source, file)) });
  }
  // It keeps its packages in a volume, and what it unpacks in here.
  const folder: TarEntry = { path: "tmp", folder: true, mode: 0o1777 };
  return buildImage({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    layers: [plainLayerOf([folder, ...files])],
    config: { Entrypoint: ["/bin/crossplane"], User: "65532:65532" },
  });
}
