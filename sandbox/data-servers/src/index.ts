/** Parts that programs which run data servers share: files, certificates, addresses, PostgreSQL databases, runs of the servers' programs. */
export * from "./keyed-queue.ts";
export * from "./certificates.ts";
export * as postgres from "./postgres.ts";
export * from "./programs.ts";
export * from "./reach.ts";
