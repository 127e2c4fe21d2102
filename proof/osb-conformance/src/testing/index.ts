/** A broker in memory, for tests of what talks to brokers. */
export type { Alter } from "./breaks.ts";
export { startFakeServer } from "./fake-server.ts";
export { credentials } from "./memory-broker.ts";
