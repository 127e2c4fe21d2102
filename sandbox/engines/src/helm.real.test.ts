import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { engineDefinition } from "./catalog.ts";
import { resolveEngine } from "./resolve.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "klutch-helm-"));
after(() => rm(folder, { recursive: true, force: true }));

test("Helm says the version that is pinned, and renders a chart for a Kubernetes of today without a cluster", async () => {
  const helm = await resolveEngine("helm");
  const { stdout: version } = await run(helm, ["version", "--template", "{{ .Version }}"]);
  assert.equal(version, engineDefinition("helm").version);
  await run(helm, ["create", "example"], { cwd: folder });
  await appendFile(join(folder, "example", "Chart.yaml"), '\nkubeVersion: ">=1.34.0-0"\n');
  const { stdout } = await run(helm, ["template", "example", "--set", "image.tag=seen"], { cwd: folder });
  assert.match(stdout, /^kind: Deployment$/m);
  assert.match(stdout, /image: "nginx:seen"/);
});
