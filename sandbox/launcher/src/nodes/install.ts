/** Types docs/install.md, word for word and in its order, and provides its prerequisites. */
import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { runtimeUser } from "@klutch/api";
import { deployments } from "@klutch/kube-core";
import { secretObject } from "@klutch/kube-testing";
import { typed } from "../demo/person.ts";
import { applyAll, readManifests, shippedManifests, waitForConditions } from "../objects.ts";
import { blocksIn } from "../page.ts";
import type { Progress } from "../progress.ts";
import { broker, type NodeSandbox } from "./node-sandbox.ts";

const page = "docs/install.md";
/** Heading under which the page builds the release, which includes the plugin. */
const imagesHeading = "Images";
const pluginPage = "docs/release.md";
const pluginHeading = "Install the plugin";
/** Under this heading people name a broker that they have. */
const brokerHeading = "3. A service broker";

/** Runs the page, from empty clusters to the first ready claim. Throws with the output of a failed command. */
export async function followInstallPage(sandbox: NodeSandbox, progress: Progress): Promise<void> {
  const blocks = await blocksIn(page);
  for (const part of [imagesHeading, brokerHeading])
    if (!blocks.some(({ heading }) => heading === part)) throw new Error(`${page} has no part "${part}"`);
  for (const { heading, language, text } of blocks) {
    if (language !== "sh") throw new Error(`${page} has a block of ${language} under "${heading}"`);
    if (heading === brokerHeading)
      await progress.step("the sandbox's broker, in a Pod of the control plane", () => bringAlong(sandbox));
    await progress.step(`${page}: ${heading}`, () => typed(text, sandbox.work, sandbox.person));
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
