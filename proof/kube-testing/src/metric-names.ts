/** Names of the metrics that a server shows, and of those that the documentation promises. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the names of the metrics in an exposition text, sorted, without those of the process itself. */
export function metricNames(text: string): readonly string[] {
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = ""]) => name);
  return names.filter((name) => !/^(process|nodejs)_/.test(name)).toSorted();
}

/** Returns the names of the metrics that docs/reference/metrics.md, which is generated from the declarations, lists for a program, without those of traces, which are off. */
export function documentedMetrics(program: string): readonly string[] {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/reference/metrics.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \| .* \| ([-\w, ]+) \|$/gm)];
  return rows
    .filter(([, , programs = ""]) => programs.split(", ").includes(program))
    .map(([, name = ""]) => name)
    .filter((name) => !name.startsWith("klutch_trace_"))
    .toSorted();
}
