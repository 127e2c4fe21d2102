/**
 * Runs the test files that its arguments name in this process, one after the other. Node's own way, `--test-isolation=none`, follows every
 * promise with an async hook before `untracked.ts` is loaded.
 */
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";

const loaded = Promise.withResolvers<void>();
// A file may set up something before its tests, which nothing may disturb.
before(() => loaded.promise);
for (const file of process.argv.slice(2)) {
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    test(file, () => {
      throw error;
    });
  }
}
loaded.resolve();
