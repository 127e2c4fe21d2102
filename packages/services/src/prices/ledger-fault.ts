/** Finds what the provider does not write in a ledger. Where the kind is of another release, a ledger may be anything. No I/O. */
import { byteSecondsPattern, isMonth, mostBackupBytes, type UsageLedger } from "@klutch/api";
import { isRecord, recordAt, textAt, valueAt } from "@klutch/kube-core";

/** A ledger that is not what the provider writes. */
export interface DamagedLedger {
  readonly name: string;
  /** Names its field and the expected value. */
  readonly fault: string;
}

/** Ledgers that a bill may take, and the others. */
export interface ExaminedLedgers {
  readonly whole: readonly UsageLedger[];
  readonly damaged: readonly DamagedLedger[];
}

/**
 * The most seconds of a row: 380,000 databases through a month. Sums of honest rows stay far below the largest exact number, and a row that lies
 * cannot push them over it.
 */
const mostSeconds = 1_000_000_000_000;
const mostByteSeconds = BigInt(mostBackupBytes) * BigInt(mostSeconds);
const isByteSeconds = new RegExp(byteSecondsPattern);

/** Takes the damaged ledgers out. */
export function examined(ledgers: readonly UsageLedger[]): ExaminedLedgers {
  const whole: UsageLedger[] = [];
  const damaged: DamagedLedger[] = [];
  for (const ledger of ledgers) {
    const fault = ledgerFault(ledger);
    if (fault === undefined) whole.push(ledger);
    else damaged.push({ name: ledger.metadata.name ?? "", fault });
  }
  return { whole, damaged };
}

/** Returns the first fault. */
function ledgerFault(ledger: UsageLedger): string | undefined {
  const rows: unknown = valueAt(ledger, "spec", "rows");
  if (!Array.isArray(rows)) return "spec.rows is no list";
  for (const [index, row] of rows.entries()) {
    const fault = rowFault(row, `spec.rows[${index}]`);
    if (fault !== undefined) return fault;
  }
  const recorded: unknown = valueAt(ledger, "spec", "recorded") ?? [];
  return Array.isArray(recorded) && recorded.every(isRecord)
    ? undefined
    : "spec.recorded is no list of entries";
}

function rowFault(row: unknown, place: string): string | undefined {
  const unnamed = ["service", "plan", "config"].find((name) => typeof recordAt(row)[name] !== "string");
  if (unnamed !== undefined) return `${place}.${unnamed} is no text`;
  if (!isMonth(textAt(row, "month") ?? "")) return `${place}.month is no month, such as 2026-11`;
  const backups: unknown = recordAt(row)["backups"];
  return (
    countFault(row, ["seconds", "ended"], place) ??
    (backups === undefined ? undefined : backupsFault(backups, `${place}.backups`))
  );
}

function backupsFault(backups: unknown, place: string): string | undefined {
  const fault = countFault(backups, ["made", "seconds", "unsizedSeconds"], place);
  if (fault !== undefined) return fault;
  const { seconds, unsizedSeconds, byteSeconds } = recordAt(backups);
  if (Number(unsizedSeconds) > Number(seconds)) return `${place}.unsizedSeconds is more than its seconds`;
  const isText = typeof byteSeconds === "string" && isByteSeconds.test(byteSeconds);
  return isText && BigInt(byteSeconds) <= mostByteSeconds
    ? undefined
    : `${place}.byteSeconds is not a whole number between 0 and ${mostByteSeconds} in a text`;
}

function countFault(value: unknown, names: readonly string[], place: string): string | undefined {
  const wrong = names.find((name) => !isCount(recordAt(value)[name]));
  return wrong === undefined
    ? undefined
    : `${place}.${wrong} is not a whole number between 0 and ${mostSeconds}`;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= mostSeconds;
}
