/** Runs everything that needs a whole sandbox but starts, kills and configures nothing of it, in one sandbox and mostly side by side. */
import { after, suite } from "node:test";
import { backups, bindings, instances, restores } from "./claim-kinds.ts";
import { startOwnSandbox } from "./own-sandbox.ts";
import { bothGenerations } from "./scenarios/both-generations.ts";
import { organisations } from "./scenarios/environment.ts";
import { listenBeforeBroker } from "./scenarios/listener.ts";
import { pagesByWord, removalByWord } from "./scenarios/pages.ts";
import { wordsForDevelopers } from "./scenarios/words.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const sandbox = stack.use(await startOwnSandbox("scenarios", "--namespaced"));
const controlPlane = await sandbox.client("control-plane");
// A page takes the broker's address from the control plane, so the listener is there before it and goes after it.
const { sent } = stack.use(await listenBeforeBroker(controlPlane));
for (const { plural } of [instances, bindings, backups, restores]) await sandbox.bind(plural);

suite("side by side", { concurrency: 8 }, () => {
  bothGenerations(sandbox);
  wordsForDevelopers(sandbox);
  organisations(sandbox, sent);
  pagesByWord(sandbox);
});
// Last, because this page takes the konnector away.
removalByWord(sandbox);
