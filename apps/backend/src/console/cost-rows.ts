/** Makes the console's rows of this month's bill. No I/O. Names of strangers come out on one line and bounded. */
import { addedBackups, isUnsized, type KeptBackups, plainText } from "@klutch/api";
import type { CostRow } from "@klutch/overview";
import {
  addedData,
  type BilledData,
  type BillLine,
  type IdleDatabase,
  shownGibMonths,
  shownMoney,
} from "@klutch/services/prices";

/** Most rows of one tenant, the dearest ones; the rest is one row by currency. */
const mostOfTenant = 100;
/** Most idle databases that a row names, the longest idle ones. */
const mostIdle = 20;
const wordLimit = 100;
const word = (text: string): string => plainText(text, wordLimit);

type Words = Pick<CostRow, "tenant" | "service" | "plan" | "month">;

interface Sum extends Words {
  readonly currency: string | undefined;
  readonly seconds: number;
  readonly backups: KeptBackups | undefined;
  readonly data: BilledData | undefined;
  readonly idle: readonly IdleDatabase[];
  readonly micros: bigint;
}

/** Returns the rows of a bill of one month, each with its idle databases. */
export function costRows(lines: readonly BillLine[], idle: readonly IdleDatabase[] = []): readonly CostRow[] {
  const idleBy = Map.groupBy(idle, keyOf);
  const sums = added(lines.map((line) => sumOf(line, idleBy.get(keyOf(line)) ?? [])));
  const byTenant = Map.groupBy(sums, ({ tenant }) => tenant);
  return [...byTenant.values()].flatMap((all) => bounded(all).map(rowOf));
}

function sumOf(line: BillLine, idle: Sum["idle"]): Sum {
  const { tenant, service, plan, month, currency, seconds, backups, data, micros } = line;
  const words = { tenant: word(tenant), service: word(service), plan: word(plan), month };
  return { ...words, currency, seconds, backups, data, idle, micros };
}

/** Names the line that an idle database belongs to. */
function keyOf({ tenant, service, plan, config }: IdleDatabase | BillLine): string {
  return JSON.stringify([tenant, service, plan, config]);
}

/** Adds up the sums with the same words. Amounts of two currencies are never added. */
function added(sums: readonly Sum[]): readonly Sum[] {
  const byId = new Map<string, Sum>();
  for (const sum of sums) {
    const id = idOf(sum);
    const { seconds = 0, micros = 0n, backups: before, data: size, idle = [] } = byId.get(id) ?? {};
    const backups = sum.backups === undefined ? before : addedBackups(before, sum.backups);
    const data = sum.data === undefined ? size : addedData(size, sum.data);
    byId.set(id, {
      ...sum,
      seconds: seconds + sum.seconds,
      backups,
      data,
      idle: [...idle, ...sum.idle],
      micros: micros + sum.micros,
    });
  }
  return [...byId.values()];
}

function bounded(all: readonly Sum[]): readonly Sum[] {
  if (all.length <= mostOfTenant) return all;
  const dearest = all.toSorted((one, other) =>
    one.micros === other.micros ? other.seconds - one.seconds : one.micros < other.micros ? 1 : -1,
  );
  const rest = dearest.slice(mostOfTenant).map((sum): Sum => ({ ...sum, service: "other", plan: "" }));
  return added([...dearest.slice(0, mostOfTenant), ...rest]);
}

function rowOf(sum: Sum): CostRow {
  const { tenant, service, plan, month, currency, seconds, backups, data, idle, micros } = sum;
  const cost = currency === undefined ? undefined : { amount: shownMoney(micros), currency };
  const words = { id: idOf(sum), tenant, service, plan, month };
  const kept = backups === undefined ? {} : { backups: backupsOf(backups) };
  const size = data === undefined ? {} : { data: sizeOf(data) };
  const unused = idle.length === 0 ? {} : { idle: idleOf(idle) };
  return { ...words, hours: Math.round(seconds / 3_600), ...kept, ...size, ...unused, cost };
}

function sizeOf({ bytes, unsized }: BilledData): CostRow["data"] & object {
  return { bytes: Number(bytes), lacksSizes: unsized > 0 };
}

function idleOf(all: readonly IdleDatabase[]): CostRow["idle"] & object {
  const longest = all.toSorted((one, other) => other.days - one.days).slice(0, mostIdle);
  const databases = longest.map(({ namespace, claim, lastSession, bytes, perMonth }) => ({
    namespace: word(namespace),
    name: word(claim),
    lastSession,
    bytes,
    perMonth: perMonth === undefined ? undefined : { amount: perMonth.amount, currency: perMonth.currency },
  }));
  return { count: all.length, databases };
}

function backupsOf(kept: KeptBackups): CostRow["backups"] & object {
  const gibMonths = isUnsized(kept) ? undefined : shownGibMonths(kept.byteSeconds);
  return { made: kept.made, gibMonths, lacksSizes: kept.unsizedSeconds > 0 };
}

/** One text for each set of words; JSON, so that no word can look like two. */
function idOf({ tenant, service, plan, month, currency = "" }: Sum): string {
  return JSON.stringify([tenant, service, plan, month, currency]);
}
