/** Runs everything that needs a whole sandbox but starts, kills and configures nothing of it, in one sandbox and mostly side by side. */
import { after, suite } from "node:test";
import { startOwnSandbox } from "./own-sandbox.ts";
import { bothGenerations } from "./scenarios/both-generations.ts";
import { organisations } from "./scenarios/environment.ts";
import { pagesByWord, removalByWord } from "./scenarios/pages.ts";
import { wordsForDevelopers } from "./scenarios/words.ts";

const sandbox = await startOwnSandbox("scenarios", "--namespaced");
after(() => sandbox[Symbol.asyncDispose]());

suite("side by side", { concurrency: 8 }, () => {
  bothGenerations(sandbox);
  wordsForDevelopers(sandbox);
  suite("one after the other", { concurrency: 1 }, () => {
    organisations(sandbox);
    // A page takes the broker's address from the control plane, which is the listener's as long as there is one.
    pagesByWord(sandbox);
  });
});
// Last, because this page takes the konnector away.
removalByWord(sandbox);
