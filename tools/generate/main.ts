/** `npm run generate`: writes every generated file. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { shippedTables, tablesModule, tablesSource } from "./tables.ts";
import { writeGenerated } from "./write.ts";

await writeGenerated(tablesModule, tablesSource(shippedTables()));
// A process of its own, which loads the module that was written just now.
const { status } = spawnSync(process.execPath, [join(import.meta.dirname, "print.ts")], { stdio: "inherit" });
process.exitCode = status ?? 1;
