/** Holds the pages against the tests: a test types every block that a person can type, or the block stands here with a reason. */
import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { repositoryRoot } from "../root.ts";

const wholeWay = "proof/e2e/scenarios/pages.scenario.ts";
const onNodes = "sandbox/launcher/src/nodes/install.ts";
const onServer = "tools/docs/typed-pages.real.test.ts";
const captured = "proof/e2e/kinds-seen.ts";

/** By page and heading: the test, or the reason. */
const typedBy: Readonly<Record<string, string>> = {
  "add-a-provider.md: Add a provider of databases": onServer,
  "add-a-provider.md: Brokers without organisation and space": onServer,
  "add-a-service.md: *": wholeWay,
  "add-a-service.md: A table from a broker's catalog": "apps/cli/src/service/from-catalog.test.ts",
  "add-a-service.md: In this repository": "no: it changes this repository; npm test does both",
  "cloud-providers.md: *": "proof/e2e/foreign-operator-s3.long.test.ts",
  "cloud-providers.md: AWS":
    "no: no provider was run; apps/function-klutch/src/cloud-providers.test.ts reads it",
  "cloud-providers.md: Azure": "no: as before",
  "cloud-providers.md: GCP": "no: as before",
  "console.md: Actions": onServer,
  "console.md: Who sees what": onServer,
  "cost.md: *": "apps/cli/src/cost/cost.real.test.ts",
  "explain.md: Why is my database not ready?":
    "no: its claim needs a broker; apps/konnector/src/whole-agent/explain.long.test.ts types it for another kind",
  "first-database.md: *": wholeWay,
  "gitops.md: Argo CD": onServer,
  "gitops.md: Bind later offers":
    "no: they are values of a chart; tools/charts/auto-bind.real.test.ts installs what it makes of such ones",
  "gitops.md: Bind by Git only":
    "no: it waits for two clusters; apps/konnector/src/whole-agent/own-bind.real.test.ts runs both sides",
  "gitops.md: Flux": "no: it needs Flux's kinds; proof/e2e/gitops judges the file by Flux's own code",
  "gitops.md: Your own kind":
    "no: it needs Flux's kinds and a table of one's own; proof/e2e/gitops judges the files",
  "identity-providers.md: Dex":
    "no: it is the other side's configuration; apps/backend/src/login/dex.real.test.ts has its like",
  "identity-providers.md: Keycloak": "no: as before; apps/backend/src/login/keycloak.long.test.ts",
  "identity-providers.md: Clients of programs": "no: as before; apps/backend/src/login/keycloak.long.test.ts",
  "identity-providers.md: Logins on another device":
    "no: as before; apps/backend/src/login/device.real.test.ts and keycloak.long.test.ts",
  "identity-providers.md: A new client secret": "no: it waits for Pods, which need nodes",
  "install.md: *": onNodes,
  "install.md: Who may use them": onServer,
  "kubectl.md: *": captured,
  "monitoring.md: Alerts": "tools/alerts/alerts.real.test.ts",
  "offer-an-api.md: *": onServer,
  "offer-an-api.md: A provider of somebody else": "proof/e2e/foreign-provider.long.test.ts",
  "operating.md: *": onServer,
  "operating.md: Databases in the cluster":
    "no: it waits for a package from another registry; tools/charts/provider-kubernetes.real.test.ts renders it",
  "operating.md: A ProviderConfig that is deleted":
    "no: between its lines a person removes a field of the file",
  "operators.md: *": "proof/e2e/foreign-operator.long.test.ts",
  "release.md: Documents and signatures": onNodes,
  "release.md: Install the plugin": onNodes,
  "remove.md: An app cluster": wholeWay,
  "remove.md: A tenant in the control plane": onServer,
  "remove.md: The control plane":
    "no: it takes Helm's release and Crossplane away, which the sandbox's other tests need",
  "rotate-credentials.md: *": onServer,
  "sandbox.md: Sandbox": "proof/e2e/own-sandbox.ts",
  "several-brokers.md: Add a broker": onServer,
  "several-brokers.md: Choose a region":
    "no: its claim needs a broker; apps/function-klutch/src/placement.test.ts reads the status",
  "several-brokers.md: Rules of a namespace or an app cluster":
    "no: the name of a cluster namespace is a person's; apps/function-klutch/src/placement.test.ts",
  "troubleshooting.md: Why did this claim reconcile 40 times?": "no: it needs jq and the log of a Pod",
  "upgrade.md: 1. Check": "apps/cli/src/upgrade/app-cluster.real.test.ts",
  "upgrade.md: Patch a fleet":
    "no: it needs images of two releases; apps/backend/src/controllers.real.test.ts runs a roll-out on a real server",
};

/** Commands that begin a block of indented text. Other indented text is output. */
const command = /^(?:\$ )?(?:kubectl|klutch|npm|helm|export|curl|git)\b/;

/** Pages and headings with commands, each once. */
async function blocks(): Promise<readonly string[]> {
  const found = new Set<string>();
  const docs = join(repositoryRoot, "docs");
  for await (const page of glob("*.md", { cwd: docs })) {
    let heading = "";
    const text = await readFile(join(docs, page), "utf8");
    for (const [, title, fenced, indented = ""] of text.matchAll(
      /^#+ (.*)$|^(```)\w+\n[^]*?^```$|(?<=\n\n|\n#+ .*\n)((?: {4}.*\n)+)/gm,
    )) {
      if (title !== undefined) heading = title;
      else if (fenced !== undefined || command.test(indented.trimStart())) found.add(`${page}: ${heading}`);
    }
  }
  return [...found].toSorted();
}

test("every block of commands in the pages has a test that types it, or a reason", async () => {
  const known = (block: string): string | undefined =>
    [block, `${block.split(":")[0]}: *`].find((key) => typedBy[key] !== undefined);
  const found = await blocks();
  assert.ok(found.length > 35, String(found.length));
  assert.deepEqual(
    found.filter((block) => known(block) === undefined),
    [],
    "name the test in tools/docs/typed-blocks.test.ts",
  );
  const used = new Set(found.map(known));
  assert.deepEqual(
    Object.keys(typedBy).filter((key) => !used.has(key)),
    [],
    "these blocks do not exist any more",
  );
});

test("the tests that are named exist, and name the page", async () => {
  for (const [key, who] of Object.entries(typedBy)) {
    if (who.startsWith("no: ")) continue;
    const text = await readFile(join(repositoryRoot, who), "utf8");
    const page = key.split(":")[0] ?? "";
    if ([onServer, wholeWay, onNodes].includes(who))
      assert.ok(text.includes(page), `${who} does not name ${page}`);
  }
});
