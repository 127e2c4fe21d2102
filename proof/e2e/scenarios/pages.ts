/** docs/add-a-service.md, docs/first-database.md and the first part of docs/remove.md, word for word, in a sandbox with real Crossplane, broker and database. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { suite, test } from "node:test";
import { resolveDebian } from "@klutch/engines";
import { blocksIn, typed } from "@klutch/launcher";
import type { OwnSandbox } from "../own-sandbox.ts";
import { backendUrlIn, cliFilesIn } from "../sandbox-process.ts";

/** Declares the tests. In the end app cluster A has no konnector any more. */
export function pagesByWord(sandbox: OwnSandbox): void {
  suite("pages that are typed word for word", () => {
    const { bin, kubeconfigs } = cliFilesIn(sandbox.folder);

    /** A folder to work in and the environment of a person there. */
    async function personAt(
      name: string,
      variables: Readonly<Record<string, string>>,
      ...path: readonly string[]
    ): Promise<{ readonly work: string; readonly person: NodeJS.ProcessEnv }> {
      const [work, tools] = [join(sandbox.root, name), join(sandbox.root, `${name}-tools`)];
      for (const made of [work, tools]) await mkdir(made);
      // Nobody's own browser opens.
      await writeFile(join(tools, "xdg-open"), "#!/bin/sh\n", { mode: 0o755 });
      const person = {
        PATH: [tools, bin, ...path, process.env["PATH"]].join(delimiter),
        HOME: sandbox.root,
        ...variables,
      };
      return { work, person };
    }

    test("a service is added by one table, bound, backed up, restored, and taken away", {
      timeout: 480_000,
    }, async () => {
      const { work, person } = await personAt("service", {
        KUBECONFIG: kubeconfigs.controlPlane,
        APP_CLUSTER: kubeconfigs.appA,
        BINDING_PAGE: `${backendUrlIn(sandbox.printed())}/export`,
      });
      const [table, ...rest] = await blocksIn("docs/add-a-service.md");
      await writeFile(join(work, "example.yaml"), table?.text ?? "");
      const printed: string[] = [];
      for (const { language, text } of rest) {
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

    test("a developer gets from a bound cluster to a connected application, and gives the database back", {
      timeout: 240_000,
    }, async () => {
      const psql = await resolveDebian("postgresql-15");
      const variables = { ...psql.env, KUBECONFIG: kubeconfigs.appA };
      const { work, person } = await personAt("database", variables, dirname(psql.path("psql")));
      await sandbox.bind("postgresqlinstances", "servicebindings");
      const printed: string[] = [];
      for (const { language, text } of await blocksIn("docs/first-database.md")) {
        assert.equal(language, "sh");
        printed.push(await typed(text, work, person));
      }
      for (const line of [
        /^postgresqlinstances +anynines\.com\/v1 +true +PostgresqlInstance$/m,
        /postgresqlinstance\.anynines\.com\/orders condition met/,
        /servicebinding\.anynines\.com\/orders-app condition met/,
        /^host hosts name password port uri username $/m,
        /^ *words *\n-+\n hello$/m,
        /deployment\.apps\/orders created/,
        /^orders +a9s-postgresql17 +postgresql-single-small +Available +True +True/m,
        /postgresqlinstance\.anynines\.com "orders" deleted/,
      ])
        assert.match(printed.join(""), line);
    });

    test("an app cluster lets go of Klutch and keeps nothing of it but what was bound", {
      timeout: 240_000,
    }, async () => {
      const [block] = await blocksIn("docs/remove.md");
      const { work, person } = await personAt("removal", { APP_CLUSTER: kubeconfigs.appA });
      const printed = await typed(block?.text ?? "", work, person);
      assert.match(printed, /namespace "klutch-bind" deleted/);
      const left = await typed(
        'kubectl --kubeconfig "$APP_CLUSTER" get clusterroles,clusterrolebindings,validatingadmissionpolicies,crds -o name',
        work,
        person,
      );
      assert.match(left, /customresourcedefinition\S*\/postgresqlinstances\.anynines\.com/);
      assert.doesNotMatch(left, /klutch-bind-konnector|klutch-konnector/);
    });
  });
}

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
