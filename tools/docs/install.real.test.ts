/** The values that docs/install.md writes, taken by real Helm: a value that is misspelled or missing there fails here, without a cluster. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { resolveEngine, run } from "@klutch/engines";
import { parseYamlDocuments } from "@klutch/kube";
import { recordsAt, textAt, valueAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-install-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Variables as a person sets them. */
const variables = {
  REGISTRY: "registry.example.org/klutch",
  BACKEND_HOST: "klutch.example.org",
  ISSUER: "https://login.example.org/realms/team",
  CLIENT_ID: "klutch-backend",
  API_SERVER: "https://api.example.org:6443",
};

test("Helm takes the values of the page, and what it makes of them has our registry, address and login", async () => {
  const page = await readFile(join(repositoryRoot, "docs", "install.md"), "utf8");
  const [written = ""] = /^cat > values\.yaml <<END\n[^]*?^END$/m.exec(page) ?? [];
  await run("/bin/sh", ["-e", "-c", written], { cwd: folder, env: { ...process.env, ...variables } });
  const chart = join(repositoryRoot, "deploy", "charts", "klutch");
  const { stdout } = await run(
    await resolveEngine("helm"),
    ["template", "klutch", chart, "--namespace", "klutch-backend", "--values", join(folder, "values.yaml")],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  const objects = parseYamlDocuments(stdout);
  const backend = objects.find((object) => textAt(object, "kind") === "Deployment");
  const [container] = recordsAt(backend, "spec", "template", "spec", "containers");
  assert.match(textAt(container, "image") ?? "", /^registry\.example\.org\/klutch\/backend:v?1\.6\.0$/);
  const args = JSON.stringify(valueAt(container, "args"));
  for (const part of [
    "--oidc-callback-url=https://klutch.example.org/callback",
    "--oidc-issuer-url=https://login.example.org/realms/team",
    "--external-address=https://api.example.org:6443",
  ])
    assert.ok(args.includes(part), `${part} is not in ${args}`);
  const packages = objects.filter((object) => textAt(object, "apiVersion")?.startsWith("pkg.") === true);
  assert.deepEqual(packages.map((object) => textAt(object, "kind") ?? "").toSorted(), [
    "Configuration",
    "Function",
    "Provider",
  ]);
});
