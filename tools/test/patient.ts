/** Loaded first into a process that lets others go first. Its threads exist already, and each has a priority of its own (sched(7)). */
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";

const lower = 5;
const threads = process.platform === "linux" ? readdirSync("/proc/self/task").map(Number) : [process.pid];
for (const thread of threads) setPriority(thread, lower);
