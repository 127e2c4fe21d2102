/** docs/add-a-service.md, word for word, in a sandbox with real Crossplane, broker and database. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { playPerson } from "@klutch/sandbox";
import { startOwnSandbox } from "./own-sandbox.ts";
import { backendUrlIn, cliFilesIn } from "./sandbox-process.ts";

/** The code of the page in the order of the text: the table first, then what is typed. */
async function blocks(): Promise<readonly (readonly [language: string, text: string])[]> {
  const page = await readFile(join(import.meta.dirname, "..", "docs", "add-a-service.md"), "utf8");
  return [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = "", text = ""]) => [
    language,
    text,
  ]);
}

/** Runs a block of the page as a person at a shell, who also does at the binding page what the page says. Gives back what was printed. */
async function typed(text: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn("/bin/sh", ["-e", "-c", text], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const logins = new Map<string, Promise<void>>();
  const onText = (chunk: Buffer): void => {
    printed += chunk.toString();
    const api = [...printed.matchAll(/^Choose (\w+)\./gm)].at(-1)?.[1] ?? "";
    const url = [...printed.matchAll(/^ *(https?:\/\/\S+\/authorize\?\S+)$/gm)].at(-1)?.[1];
    if (url !== undefined && !logins.has(url)) logins.set(url, playPerson(url, api));
  };
  child.stdout.on("data", onText);
  child.stderr.on("data", onText);
  await once(child, "close");
  await Promise.all(logins.values());
  assert.equal(child.exitCode, 0, `${text}\n${printed}`);
  return printed;
}

test("a service is added by one table, bound, backed up, restored, and taken away", {
  timeout: 480_000,
}, async () => {
  await using sandbox = await startOwnSandbox("service");
  const { root, folder } = sandbox;
  const { bin, kubeconfigs } = cliFilesIn(folder);
  const [work, tools] = [join(root, "work"), join(root, "tools")];
  for (const made of [work, tools]) await mkdir(made);
  // Nobody's own browser opens.
  await writeFile(join(tools, "xdg-open"), "#!/bin/sh\n", { mode: 0o755 });
  const person = {
    PATH: [tools, bin, process.env["PATH"]].join(delimiter),
    HOME: root,
    KUBECONFIG: kubeconfigs.controlPlane,
    APP_CLUSTER: kubeconfigs.appA,
    BINDING_PAGE: `${backendUrlIn(sandbox.printed())}/export`,
  };
  const [[, table] = ["", ""], ...rest] = await blocks();
  await writeFile(join(work, "example.yaml"), table);
  const printed: string[] = [];
  for (const [language, text] of rest) {
    assert.equal(language, "sh");
    printed.push(await typed(text, work, person));
    if (text.includes("kubectl explain")) await assertRefused(work, person);
  }
  const text = printed.join("");
  for (const line of [
    /example\.yaml has no faults/,
    /manifests\/apis\/xexampleinstances\.anynines\.com\.yaml/,
    /manifests\/gitops\/argocd-health\.yaml/,
    /exampleinstances\.anynines\.com is offered/,
    /ENUM:\n +example\n +keyvalue\n/,
    /exampleinstance\.anynines\.com\/first condition met/,
    /servicebinding\.anynines\.com\/first-app condition met/,
    /^first +a9s-postgresql17 +postgresql-single-nano .*True/m,
    /^host hosts name password port uri username $/m,
    /^\[\{"hostURL":"127\.0\.0\.1","label":"SQL","port":"\d+"\}\]$/m,
    /backup\.anynines\.com\/first-backup condition met/,
    /restore\.anynines\.com\/first-restore condition met/,
    /Deleted CompositeResourceDefinition xexampleinstances\.anynines\.com/,
  ])
    assert.match(text, line);
  const missing = await readFile(join(work, "missing.yaml"), "utf8");
  assert.match(missing, /name: example-service-broker/);
});

/** A person who names another type is told at once which there are. */
async function assertRefused(cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const claim =
    "apiVersion: anynines.com/v1\nkind: ServiceBinding\nmetadata: { name: wrong, namespace: default }";
  const text = `${claim}\nspec: { instanceRef: first, serviceInstanceType: exmaple }\n`;
  await writeFile(join(cwd, "wrong.yaml"), text);
  await assert.rejects(
    typed('kubectl apply -f wrong.yaml --kubeconfig "$APP_CLUSTER"', cwd, env),
    /spec\.serviceInstanceType: Unsupported value: "exmaple": supported values: "example", "keyvalue", .*"search"/,
  );
}
