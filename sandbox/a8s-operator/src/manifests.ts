/** Reads the manifests that run the operator in a control plane: its kinds, account, rights and Deployment. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { artefact, type Manifest } from "@klutch/api";
import { parseYamlDocuments } from "@klutch/kube";

const file = join(import.meta.dirname, "..", "..", "..", "deploy", "a8s-operator.yaml");

/** Returns the manifests in the order in which they are applied. `image` takes the place of the released one. */
export function operatorManifests({
  image = artefact("a8s-operator"),
}: {
  readonly image?: string;
} = {}): readonly Manifest[] {
  const text = readFileSync(file, "utf8").replace(artefact("a8s-operator"), image);
  return parseYamlDocuments(text) as Manifest[];
}
