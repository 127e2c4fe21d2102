/** Prints the figures of rounds with and without traces beside each other. */
import { formatTable, median } from "../harness/statistics.ts";

/** One program in one round. */
export interface ProgramRound {
  readonly program: string;
  /** MiB resident after the round. */
  readonly rss: number;
  /** CPU time of the round in milliseconds. */
  readonly cpuMs: number;
}

/** One round. */
export interface Round {
  readonly isTraced: boolean;
  readonly claims: number;
  /** Received spans, and bytes of their bodies. */
  readonly spans: number;
  readonly bytes: number;
  readonly programs: readonly ProgramRound[];
}

/** Returns a table of medians with all rounds behind them, and one line about the spans. Throws without a round of each kind. */
export function formatTraces(rounds: readonly Round[]): string {
  const names = rounds[0]?.programs.map(({ program }) => program) ?? [];
  const of = (name: string, isTraced: boolean, field: "rss" | "cpuMs"): readonly number[] =>
    rounds
      .filter((round) => round.isTraced === isTraced)
      .flatMap(({ programs, claims }) =>
        programs
          .filter(({ program }) => program === name)
          .map((one) => (field === "rss" ? one.rss : one.cpuMs / claims)),
      );
  const rows = names.flatMap((name) =>
    (["rss", "cpuMs"] as const).map((field) => {
      const [off, on] = [of(name, false, field), of(name, true, field)];
      const unit = field === "rss" ? "RSS, MiB" : "CPU time for each claim, ms";
      const ratio = `${(median(on) / median(off)).toFixed(2)} ×`;
      return [`${name}: ${unit}`, cell(off), cell(on), ratio];
    }),
  );
  const traced = rounds.filter(({ isTraced }) => isTraced);
  const each = (field: "spans" | "bytes"): string =>
    median(traced.map((round) => round[field] / round.claims)).toFixed(0);
  const silent = rounds.filter(({ isTraced }) => !isTraced).reduce((sum, { spans }) => sum + spans, 0);
  return `${formatTable(["", "off", "on", "on / off"], rows)}\n\nFor each claim ${each("spans")} spans in ${each("bytes")} bytes; ${silent} spans without traces.`;
}

const cell = (values: readonly number[]): string =>
  `${median(values).toFixed(1)}: ${values.map((value) => value.toFixed(1)).join(", ")}`;
