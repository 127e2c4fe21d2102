/** Starts the program of a Crossplane package, whose metrics Crossplane announces on port 8080. */
import assert from "node:assert/strict";
import { podOfArguments, startPod } from "./pod-process.ts";

const address = "http://127.0.0.1:8080";
const program = await startPod(podOfArguments(), `${address}/healthz`);
assert.match(await (await fetch(`${address}/metrics`)).text(), /^process_resident_memory_bytes /m);
await program.end();
process.stdout.write(program.output());
