/** docs/add-a-service.md, docs/first-database.md and the first part of docs/remove.md, word for word, in a sandbox with real Crossplane, broker and database. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { suite, test } from "node:test";
import { resolveDebian } from "@klutch/engines";
import { blocksIn, type PageBlock, typed } from "@klutch/launcher";
import { backendUrlIn, cliFilesIn, type OwnSandbox } from "../own-sandbox.ts";

/** Declares the tests of the pages that leave everything as it was. */
export function pagesByWord(sandbox: OwnSandbox): void {
  suite("pages that are typed word for word", () => {
    const { kubeconfigs } = cliFilesIn(sandbox.folder);

    test("a service is added by one table, bound, backed up, restored, and taken away", async () => {
      const person = await personAt(sandbox, "service", {
        KUBECONFIG: kubeconfigs.controlPlane,
        APP_CLUSTER: kubeconfigs.appA,
        BINDING_PAGE: `${backendUrlIn(sandbox.printed())}/export`,
        PERSON: "developer@example.com",
      });
      const [table, ...rest] = await blocksIn("docs/add-a-service.md");
      await writeFile(join(person.work, "example.yaml"), table?.text ?? "");
      const text = await person.types(rest, async (block) => {
        if (block.includes("kubectl explain")) await assertRefused(person);
      });
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
      const missing = await readFile(join(person.work, "missing.yaml"), "utf8");
      assert.match(missing, /name: example-service-broker/);
    });

    test("a developer gets from a bound cluster to a connected application, and gives the database back", async () => {
      const psql = await resolveDebian("postgresql-15");
      const variables = { ...psql.env, KUBECONFIG: kubeconfigs.appA };
      const person = await personAt(sandbox, "database", variables, dirname(psql.path("psql")));
      const text = await person.types(await blocksIn("docs/first-database.md"));
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
        assert.match(text, line);
    });
  });
}

/** Declares the test after which app cluster A has no konnector any more. */
export function removalByWord(sandbox: OwnSandbox): void {
  test("an app cluster lets go of Klutch and keeps nothing of it but what was bound", async () => {
    const [block] = await blocksIn("docs/remove.md");
    assert.ok(block);
    const { kubeconfigs } = cliFilesIn(sandbox.folder);
    const person = await personAt(sandbox, "removal", { APP_CLUSTER: kubeconfigs.appA });
    const text = await person.types([block]);
    assert.match(text, /^Removing \d+ bound APIs and the konnector from this cluster/m);
    assert.match(text, /^Deleted namespace klutch-bind\.$/m);
    assert.match(
      text,
      /servicebindings\.anynines\.com is gone[^]*postgresqlinstances\.anynines\.com is gone/,
    );
    const kinds = "clusterroles,clusterrolebindings,validatingadmissionpolicies,crds";
    const left = await person.types([
      shell(`kubectl --kubeconfig "$APP_CLUSTER" get ${kinds},namespaces -o name`),
    ]);
    assert.match(left, /customresourcedefinition\S*\/postgresqlinstances\.anynines\.com/);
    assert.doesNotMatch(left, /klutch-bind|klutch-konnector/);
  });
}

type Block = Pick<PageBlock, "language" | "text">;

function shell(text: string): Block {
  return { language: "sh", text };
}

/** A person with a folder to work in and a shell there. */
interface Person {
  readonly work: string;
  /** Types blocks one after the other, and returns all that was printed. */
  types(blocks: readonly Block[], onTyped?: (block: string) => Promise<void>): Promise<string>;
}

async function personAt(
  sandbox: OwnSandbox,
  name: string,
  variables: Readonly<Record<string, string>>,
  ...path: readonly string[]
): Promise<Person> {
  const [work, tools] = [join(sandbox.root, name), join(sandbox.root, `${name}-tools`)];
  for (const made of [work, tools]) await mkdir(made);
  // No real browser opens.
  await writeFile(join(tools, "xdg-open"), "#!/bin/sh\n", { mode: 0o755 });
  const PATH = [tools, cliFilesIn(sandbox.folder).bin, ...path, process.env["PATH"]].join(delimiter);
  const env = { PATH, HOME: sandbox.root, ...variables };
  return {
    work,
    async types(blocks, onTyped) {
      let printed = "";
      for (const { language, text } of blocks) {
        assert.equal(language, "sh");
        printed += await typed(text, work, env).catch(async (error: unknown) => {
          throw new Error(`${String(error)}\n${await objectsSeen(env)}`, { cause: error });
        });
        await onTyped?.(text);
      }
      return printed;
    },
  };
}

/** Lists the objects of both sides with their finalizers and messages: the reason why a command waited in vain. */
async function objectsSeen(env: NodeJS.ProcessEnv): Promise<string> {
  const columns =
    "KIND:.kind,NAME:.metadata.name,DELETED:.metadata.deletionTimestamp,FINALIZERS:.metadata.finalizers,SAYS:.status.conditions[*].message";
  const get = `kubectl get $kinds -A -o custom-columns=${columns} --kubeconfig`;
  const text = `for kinds in claim composite managed apiservicebindings; do
  for cluster in "$APP_CLUSTER" "$KUBECONFIG"; do ${get} "$cluster" || true; done
done`;
  return typed(text, ".", env).catch(String);
}

/** A person who names another type is told at once which there are. */
async function assertRefused(person: Person): Promise<void> {
  const claim =
    "apiVersion: anynines.com/v1\nkind: ServiceBinding\nmetadata: { name: wrong, namespace: default }";
  const text = `${claim}\nspec: { instanceRef: first, serviceInstanceType: exmaple }\n`;
  await writeFile(join(person.work, "wrong.yaml"), text);
  await assert.rejects(
    person.types([shell('kubectl apply -f wrong.yaml --kubeconfig "$APP_CLUSTER"')]),
    /spec\.serviceInstanceType: Unsupported value: "exmaple": supported values: "example", "keyvalue", .*"search"/,
  );
}
