/** `klutch service check` and `render`: what needs no cluster. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatYaml } from "@klutch/kube";
import { type Generation, legacy, manifestsOf, type ServiceManifests } from "@klutch/services";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { readServiceFile } from "./file.ts";

/** Validates a table. Throws `CliError` with all faults. */
export async function checkService(context: CliContext, path: string, generation: Generation): Promise<void> {
  await readServiceFile(context, path);
  const flag = generation === legacy ? "" : ` --generation ${generation.name}`;
  context.terminal.say(
    `${path} has no faults. Whether its CEL compiles only an API server knows: klutch service apply ${path}${flag} --dry-run`,
  );
}

/** Writes the manifests, the examples and the page of a file into a folder, which is made. Files of the same names are replaced. */
export async function renderService(
  context: CliContext,
  path: string,
  { folder, generation }: { readonly folder: string; readonly generation: Generation },
): Promise<void> {
  const { table } = await readServiceFile(context, path);
  for (const [name, text] of renderedFiles(manifestsOf(generation, table), table.type)) {
    const target = join(folder, name);
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, text);
    } catch (cause) {
      throw new CliError("Manifest", `${target} cannot be written.`, { cause });
    }
    context.terminal.out(`${target}\n`);
  }
}

/** Path below the folder → content. */
function renderedFiles(manifests: ServiceManifests, type: string): ReadonlyMap<string, string> {
  const { xrd, compositions, template, health, examples, page } = manifests;
  return new Map([
    [`apis/${xrd.metadata.name}.yaml`, formatYaml(xrd)],
    ...compositions.map(
      (composition) => [`compositions/${composition.metadata.name}.yaml`, formatYaml(composition)] as const,
    ),
    [`templates/${template.metadata.name}.yaml`, formatYaml(template)],
    ...examples.map(({ name, comment, manifest }) => {
      const lines = comment.map((line) => `# ${line}\n`).join("");
      return [`examples/${name}.yaml`, `${lines}${formatYaml(manifest)}`] as const;
    }),
    ["gitops/argocd-health.yaml", formatYaml(health.argo)],
    ["gitops/flux-health.yaml", formatYaml(health.flux)],
    [`${type}.md`, page],
  ]);
}
