/** docs/add-a-service.md, word for word, in a sandbox with real Crossplane, broker and database. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { cacheFolder } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { removeDataOf, startSandbox } from "./sandbox-process.ts";

const run = promisify(execFile);
const root = await mkdtemp(join(tmpdir(), "klutch-service-"));
const folder = join(root, "sandbox");
after(async () => {
  await removeDataOf(folder);
  await rm(root, { recursive: true, force: true });
});

/** The code of the page in the order of the text: the table first, then what is typed. */
async function blocks(): Promise<readonly (readonly [language: string, text: string])[]> {
  const page = await readFile(join(import.meta.dirname, "..", "docs", "add-a-service.md"), "utf8");
  return [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = "", text = ""]) => [
    language,
    text,
  ]);
}

test("a service is added by one table, makes a database, and is taken away", {
  timeout: 300_000,
}, async () => {
  const env = { ...process.env, HOME: root, KLUTCH_STATE_DIR: folder, KLUTCH_CACHE_DIR: cacheFolder };
  const sandbox = startSandbox({ env, args: ["--no-demo"] });
  try {
    await waitFor("the sandbox to be up", () => sandbox.printed().includes("Klutch is up."), {
      timeoutMs: 180_000,
    });
    const work = join(root, "work");
    await mkdir(work);
    const [[, table] = ["", ""], ...rest] = await blocks();
    await writeFile(join(work, "example.yaml"), table);
    const printed: string[] = [];
    for (const [language, text] of rest) {
      assert.equal(language, "sh");
      const { stdout, stderr } = await run("/bin/sh", ["-e", "-c", text], {
        cwd: work,
        env: {
          PATH: [join(folder, "bin"), process.env["PATH"]].join(delimiter),
          HOME: root,
          KUBECONFIG: join(folder, "control-plane.kubeconfig"),
        },
      });
      printed.push(stdout, stderr);
    }
    const text = printed.join("");
    for (const line of [
      /example\.yaml has no faults/,
      /manifests\/apis\/xexampleinstances\.anynines\.com\.yaml/,
      /exampleinstances\.anynines\.com is offered/,
      /exampleinstance\.anynines\.com\/first condition met/,
      /^first +a9s-postgresql17 +postgresql-single-nano .*True/m,
      /Deleted CompositeResourceDefinition xexampleinstances\.anynines\.com/,
    ])
      assert.match(text, line);
    const missing = await readFile(join(work, "missing.yaml"), "utf8");
    assert.match(missing, /name: example-service-broker/);
  } finally {
    sandbox.child.kill("SIGINT");
    await sandbox.exited;
  }
});
