/** Stories that go beyond the whole way, side by side in one sandbox with real Crossplane, brokers and databases. */
import { after, suite } from "node:test";
import { listenBeforeBroker } from "./before-broker.ts";
import { allowManyDeletions, startOwnSandbox } from "./own-sandbox.ts";
import { explainFailures } from "./sandbox-ends.ts";
import { whyNothingIsMade } from "./scenarios/causes.scenario.ts";
import { organisations } from "./scenarios/environment.scenario.ts";
import { pagesByWord, removalByWord } from "./scenarios/pages.scenario.ts";
import { regions } from "./scenarios/regions.scenario.ts";
import { wordsForDevelopers } from "./scenarios/words.scenario.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const sandbox = stack.use(await startOwnSandbox("stories", "--namespaced"));
explainFailures(sandbox);
// A page takes the broker's address from the control plane, so the listener is there before it and goes after it.
const { sent } = stack.use(await listenBeforeBroker(await sandbox.client("control-plane")));
// What the demo binds, which the stories take for granted.
await sandbox.bind(
  "postgresqlinstances",
  "servicebindings",
  "mariadbinstances",
  "keyvalueinstances",
  "backups",
  "restores",
);
await allowManyDeletions(await sandbox.client("app-a"));

suite("people and operators at work, side by side", { concurrency: 8 }, () => {
  wordsForDevelopers(sandbox);
  whyNothingIsMade(sandbox);
  organisations(sandbox, sent);
  regions(sandbox);
  pagesByWord(sandbox);
});

// After the others, because this page takes the konnector away.
removalByWord(sandbox);
