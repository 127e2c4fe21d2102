/** What every benchmark here says of the machine and of its figures. */
import { cpus, loadavg } from "node:os";

/** Processors and runtime, one line. */
export function machineText(): string {
  return `machine ${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.version}`;
}

/** Load average of the last minute. */
export function loadText(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

/** The value below which this share of the values lies, such as 0.5 for the median; the greatest for 1. 0 when there are none. */
export function quantile(values: readonly number[], share: number): number {
  const index = Math.max(0, Math.ceil(share * values.length) - 1);
  return values.toSorted((one, other) => one - other)[index] ?? 0;
}

/** Milliseconds as seconds with one digit. */
export function secondsText(timeMs: number): string {
  return `${(timeMs / 1000).toFixed(1)} s`;
}
