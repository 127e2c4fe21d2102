/** On what the figures were measured. */
import { cpus, loadavg, totalmem } from "node:os";

/** One line, with the load at this moment. */
export function describeMachine(): string {
  const memory = (totalmem() / 1024 ** 3).toFixed(0);
  return `${cpus().length} × ${cpus()[0]?.model.trim()}, ${memory} GiB, Node ${process.versions.node}, load ${describeLoad()}`;
}

/** Load averages of 1, 5 and 15 minutes. */
export function describeLoad(): string {
  return loadavg()
    .map((load) => load.toFixed(2))
    .join(" ");
}
