/** Everything that needs a whole sandbox but starts, kills and configures nothing of it, in one sandbox and one after the other. */
import { after } from "node:test";
import { startOwnSandbox } from "./own-sandbox.ts";
import { bothGenerations } from "./scenarios/both-generations.ts";
import { organisations } from "./scenarios/environment.ts";
import { pagesByWord } from "./scenarios/pages.ts";
import { wordsForDevelopers } from "./scenarios/words.ts";

const sandbox = await startOwnSandbox("scenarios", "--namespaced");
after(() => sandbox[Symbol.asyncDispose]());

bothGenerations(sandbox);
wordsForDevelopers(sandbox);
organisations(sandbox);
// Last, because a page takes the konnector away.
pagesByWord(sandbox);
