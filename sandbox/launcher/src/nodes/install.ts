/** Types docs/install.md, word for word and in its order, provides its prerequisites, and uses the database that it makes. */
import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { klutchVersion, runtimeUser } from "@klutch/api";
import { deployments } from "@klutch/kube-core";
import { secretObject } from "@klutch/kube-testing";
import { blocksIn, typed } from "../demo/person.ts";
import { applyAll, readManifests, shippedManifests, waitForConditions } from "../objects.ts";
import type { Progress } from "../progress.ts";
import { broker, type NodeSandbox } from "./node-sandbox.ts";

const page = "docs/install.md";
/** Heading under which the page builds the release, which includes the plugin. */
const imagesHeading = "Images";
const pluginPage = "docs/release.md";
const pluginHeading = "Install the plugin";
/** Under this heading people name a broker that they have. */
const brokerHeading = "3. A service broker";
/** The page says to repeat these lines for another app cluster. */
const bindHeading = "5. Bind an app cluster";

/** Words that the application writes. */
const words = "Hello from a Pod of app cluster A";
const script = `export KUBECONFIG="$APP_CLUSTER" pod=orders-application
kubectl wait "pod/$pod" --for=jsonpath='{.status.phase}'=Succeeded --timeout=2m || { kubectl logs "$pod"; exit 1; }
kubectl logs "$pod"
kubectl delete pod "$pod"`;

/** Runs the page, from empty clusters to the first ready claim. Throws with the output of a failed command. */
export async function followInstallPage(sandbox: NodeSandbox, progress: Progress): Promise<void> {
  const blocks = await blocksIn(page);
  const again = { ...sandbox.person, APP_CLUSTER: sandbox.cli.kubeconfigs.appB };
  for (const part of [imagesHeading, brokerHeading, bindHeading])
    if (!blocks.some(({ heading }) => heading === part)) throw new Error(`${page} has no part "${part}"`);
  for (const { heading, language, text } of blocks) {
    if (language !== "sh") throw new Error(`${page} has a block of ${language} under "${heading}"`);
    if (heading === brokerHeading)
      await progress.step("the sandbox's broker, in a Pod of the control plane", () => bringAlong(sandbox));
    await progress.step(`${page}: ${heading}`, () => typed(text, sandbox.work, sandbox.person));
    if (heading === bindHeading)
      await progress.step(`${page}: ${heading}, app cluster B`, () => typed(text, sandbox.work, again));
    if (heading === imagesHeading)
      await progress.step(`${pluginPage}: ${pluginHeading}`, () => installExecutables(sandbox));
  }
}

/** Installs the plugin by the lines for it, and `klutch`, which they say is installed in the same way. Throws when one does not run. */
async function installExecutables({ work, person }: NodeSandbox): Promise<void> {
  const block = (await blocksIn(pluginPage)).find(({ heading }) => heading === pluginHeading);
  if (block === undefined) throw new Error(`${pluginPage} has no commands under "${pluginHeading}"`);
  const lines = block.text.replaceAll(/^\$ /gm, "");
  for (const text of [lines, lines.replaceAll(/kubectl[- ]bind/g, "klutch")])
    await typed(text, join(work, "dist", "release"), person);
}

/** Prepares the page's prerequisites once the backend exists: access from outside, and the broker of the bundle for trying Klutch out. */
async function bringAlong({ clusters, work, secrets }: NodeSandbox): Promise<void> {
  const { client, node, folder } = clusters.controlPlane;
  const { name, namespace, user } = broker;
  const data = join(folder, name);
  await mkdir(data);
  await chown(data, runtimeUser, runtimeUser);
  const bundle = await readManifests(join(work, "dist", "release", "bundles", "install-dev.yaml"));
  const login = { username: user, password: secrets.brokerPassword, "secret-key": secrets.brokerKey };
  await applyAll(client, [
    ...(await shippedManifests("before-broker", { ADDRESS: node.address, DATA: data })),
    secretObject(namespace, name, login),
    ...bundle.filter((object) => object.metadata.name?.startsWith(name)),
  ]);
  await waitForConditions(client, deployments, { name, namespace }, ["Available"]);
}

/**
 * Uses the page's database from a Pod of app cluster A, which knows only the Secret of its binding: writes into it, and returns what it reads from
 * there. Throws with what the program said.
 */
export async function useFirstDatabase({ clusters, work, person }: NodeSandbox): Promise<string> {
  const image = `${person["REGISTRY"]}/broker:${klutchVersion}`;
  await applyAll(clusters.appA.client, await shippedManifests("orders-application", { IMAGE: image }));
  const printed = await typed(script, work, person);
  if (!printed.split("\n").some((line) => line.trim() === words))
    throw new Error(`the application's Pod said: ${printed}`);
  return words;
}

/** Deletes the claims of the page: the demo starts and ends with none. */
export async function giveBack({ work, person }: NodeSandbox): Promise<void> {
  const remove = 'kubectl --kubeconfig "$APP_CLUSTER" delete --timeout=5m';
  // The login first: an instance stays while it has one.
  await typed(`${remove} servicebindings/orders-app && ${remove} postgresqlinstances/orders`, work, person);
}
