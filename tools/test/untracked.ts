/**
 * Loaded first into each test process. Node's test runner follows every promise with an async hook, only to know which test an uncaught error
 * belongs to; that takes a third of the computing time of our tests. Without the hook an uncaught error ends the process instead, and the
 * file that ran then has failed. A suite whose function returns the promise of a test would wait for it for ever: it has to return nothing.
 */
import { createHook } from "node:async_hooks";
import { inspect } from "node:util";

Object.assign(Reflect.getPrototypeOf(createHook({})) ?? {}, {
  enable(this: object): object {
    return this;
  },
});

function endWith(error: unknown): void {
  process.stderr.write(`An error that no test caught: ${inspect(error)}\n`);
  process.exit(1);
}

process.on("uncaughtException", endWith);
process.on("unhandledRejection", endWith);
