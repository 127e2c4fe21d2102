/** Types docs/install.md, word for word and in its order, and what it names besides. */
import { join } from "node:path";
import { blocksIn } from "../page/code.ts";
import { typed } from "../page/typed.ts";
import { applyAll } from "../objects.ts";
import type { Progress } from "../progress.ts";
import { installBroker } from "./broker.ts";
import { trust } from "./certificate.ts";
import type { NodeWorld } from "./world.ts";

const page = "docs/install.md";
/** Heading under which the page builds the release, which includes the plugin. */
const imagesHeading = "Images";
const pluginPage = "docs/release.md";
const pluginHeading = "Install the plugin";
/** Under this heading people name a broker that they have. */
const brokerHeading = "3. A service broker";

/** Runs the page, from empty clusters to the first ready claim. Throws with the output of a failed command. Returns the output of all. */
export async function followInstallPage(world: NodeWorld, progress: Progress): Promise<string> {
  const blocks = await blocksIn(page);
  for (const part of [imagesHeading, brokerHeading])
    if (!blocks.some(({ heading }) => heading === part)) throw new Error(`${page} has no part "${part}"`);
  trust(world.authority);
  const printed: string[] = [];
  for (const { heading, language, text } of blocks) {
    if (language !== "sh") throw new Error(`${page} has a block of ${language} under "${heading}"`);
    if (heading === brokerHeading) await bringAlong(world, progress);
    await progress.step(`${page}: ${heading}`, async () => {
      printed.push(await typed(text, world.work, world.person));
    });
    if (heading === imagesHeading)
      await progress.step(`${pluginPage}: ${pluginHeading}`, () => installExecutables(world));
  }
  return printed.join("");
}

/** The plugin by the lines for it, and `klutch`, which they say is installed in the same way. Throws when one does not run. */
async function installExecutables({ work, person }: NodeWorld): Promise<void> {
  const block = (await blocksIn(pluginPage)).find(({ heading }) => heading === pluginHeading);
  if (block === undefined) throw new Error(`${pluginPage} has no commands under "${pluginHeading}"`);
  const lines = block.text.replaceAll(/^\$ /gm, "");
  for (const text of [lines, lines.replaceAll(/kubectl[- ]bind/g, "klutch")])
    await typed(text, join(work, "dist", "release"), person);
}

/** Prepares the page's prerequisites once the backend exists: a way in from outside, and a broker. */
async function bringAlong({ clusters, work, person, secrets }: NodeWorld, progress: Progress): Promise<void> {
  const { client, node } = clusters.controlPlane;
  await applyAll(client, [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "klutch-backend", namespace: "klutch-backend" },
      // No load balancer is here: the node itself takes what comes to its address.
      spec: { externalIPs: [node.address] },
    },
  ]);
  await progress.step("the sandbox's broker, in a Pod of the control plane", () =>
    installBroker(clusters.controlPlane, join(work, "dist", "release", "bundles"), {
      username: person["BROKER_USER"] ?? "",
      password: person["BROKER_PASSWORD"] ?? "",
      "secret-key": secrets.brokerKey,
    }),
  );
}
