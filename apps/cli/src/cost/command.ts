/** `klutch cost` and its flags: what the databases of a control plane cost. */
import {
  type Backup,
  backups as backupType,
  monthAt,
  namespacedBackups,
  namespacedServiceInstances,
  plainText,
  type ServiceInstance,
  serviceInstances,
  type Tenant,
  tenants as tenantType,
  type UsageLedger,
  usageLedgers,
} from "@klutch/api";
import { isForbidden } from "@klutch/kube";
import { type KubeObject, namespaces } from "@klutch/kube-core";
import {
  type BillLine,
  billOf,
  type DamagedLedger,
  type DoubtfulBackup,
  idleDatabasesOf,
  type PriceBook,
  pricesNamespace,
} from "@klutch/services";
import { Command } from "commander";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { counted, NotWellError } from "../findings.ts";
import { type CommonOptions, commonOptions, readFormat } from "../options.ts";
import { addControlPlaneFlags } from "../service/commands.ts";
import { type ControlPlane, connectControlPlane } from "../service/control-plane.ts";
import { listed } from "../tenants/read.ts";
import { budgetLines, budgetMarks } from "./budgets.ts";
import { idleDaysIn, idleWords, printedIdle } from "./idle.ts";
import { readPrices } from "./prices.ts";
import { type CostFormat, costFormats, printedBill } from "./print.ts";

interface CostOptions extends Omit<CommonOptions, "output"> {
  readonly since: string;
  readonly until: string | undefined;
  readonly tenants: readonly string[];
  readonly prices: string | undefined;
  readonly pricesNamespace: string;
  readonly format: CostFormat;
  /** Undefined: the bill is asked for. */
  readonly idleDays: number | undefined;
}

const exitCodes =
  "\nExit codes: 0 the bill is whole, 1 there is none, 2 it leaves damaged ledgers out, or the size of a backup is in doubt.";
const monthHelp = "such as 2026-11, in UTC";

/** The command, for operators of a control plane. */
export function costCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("cost"))
    .description("Show what databases and their backups cost, by app cluster, service and plan. Read-only.")
    .option("--since <month>", `first month, ${monthHelp} (default: this month)`)
    .option("--until <month>", `month after the last one, ${monthHelp} (default: until now)`)
    .option(
      "--tenant <namespace>",
      "cluster namespace of one app cluster; may be repeated (default: all)",
      collected,
    )
    .option(
      "--idle [days]",
      "instead of the bill: databases without a session for these days, as far as brokers tell (default: 30d)",
    )
    .option("--prices <file>", "price list to use instead of the control plane's")
    .option("--prices-namespace <name>", "namespace of the ConfigMap klutch-prices", pricesNamespace)
    .option("-o, --output <format>", `output format: ${costFormats.join(", ")}`)
    .addHelpText("after", exitCodes)
    .action(async () => {
      const { output, ...values }: Readonly<Record<string, unknown>> = command.opts();
      const { since, until, tenant, prices, pricesNamespace } = values;
      const days = idleDaysIn(values["idle"]);
      if (days !== undefined && (since ?? until) !== undefined)
        throw new CliError("Usage", "--idle tells of now; leave --since and --until out.");
      await cost(context, {
        ...commonOptions(values, context.env),
        since: monthOf(since, "--since") ?? monthAt(context.clock.now()),
        until: monthOf(until, "--until"),
        tenants: Array.isArray(tenant) ? tenant.map(String) : [],
        prices: typeof prices === "string" ? prices : undefined,
        pricesNamespace: String(pricesNamespace),
        format: readFormat(output, costFormats),
        idleDays: days,
      });
    });
  addControlPlaneFlags(command, tools);
  return command;
}

async function cost(context: CliContext, options: CostOptions): Promise<void> {
  const { since, until, tenants, format } = options;
  if (until !== undefined && until <= since)
    throw new CliError("Usage", `--until ${until} is not after --since ${since}.`);
  await using cluster = await connectControlPlane({ ...options, output: undefined });
  const { prices: path, pricesNamespace: namespace } = options;
  const book = await readPrices(context, cluster, { path, namespace });
  if (options.idleDays !== undefined) {
    await idle(context, { cluster, book, days: options.idleDays, ...options });
    return;
  }
  // Instances and backups first: see `Recorded`.
  const instances = await instancesIn(context, cluster);
  const backups = [
    ...(await listed<Backup>(context, cluster, backupType)),
    ...(await listed<Backup>(context, cluster, namespacedBackups)),
  ];
  const ledgers = await listed<UsageLedger>(context, cluster, usageLedgers);
  const spaces = await listed<KubeObject>(context, cluster, namespaces);
  const now = context.clock.now();
  const bill = billOf({ instances, backups, ledgers, namespaces: spaces }, book, { since, until, now });
  const isMeant = (tenant: string): boolean => tenants.length === 0 || tenants.includes(tenant);
  const lines = bill.lines.filter(({ tenant }) => isMeant(tenant));
  const month = monthAt(now);
  const isNow = since <= month && (until === undefined || month < until);
  const owners = isNow ? await readBudgets(context, cluster) : [];
  const marks = budgetMarks(
    owners.filter(({ metadata }) => isMeant(metadata.namespace ?? "")),
    lines,
    month,
  );
  const isTable = format === undefined || format === "wide";
  const { damaged } = bill;
  const doubtful = bill.doubtful.filter(({ tenant }) => isMeant(tenant));
  if (lines.length === 0 && isTable) context.terminal.say("No database existed in this time.");
  else context.terminal.out(printedBill(lines, { since, until }, format, { marks, damaged, doubtful }));
  warnOfPrices(context, lines);
  warnOfSizes(context, lines);
  for (const line of budgetLines(marks)) context.terminal.say(line);
  const faults = [...ledgerFaults(context, damaged), ...sizeFaults(context, doubtful)];
  if (faults.length > 0) throw new NotWellError(`cost: ${faults.join(", ")}.`);
}

async function idle(
  context: CliContext,
  {
    cluster,
    book,
    days: leastDays,
    tenants,
    format,
  }: Pick<CostOptions, "tenants" | "format"> & {
    readonly cluster: ControlPlane;
    readonly book: PriceBook;
    readonly days: number;
  },
): Promise<void> {
  const instances = await instancesIn(context, cluster);
  const spaces = await listed<KubeObject>(context, cluster, namespaces);
  const report = idleDatabasesOf({ instances, namespaces: spaces }, book, {
    now: context.clock.now(),
    leastDays,
    isMeant: (tenant) => tenants.length === 0 || tenants.includes(tenant),
  });
  const text = printedIdle(report, leastDays, format);
  if (text !== undefined) context.terminal.out(text);
  const words = idleWords(report, leastDays);
  if (words !== "") context.terminal.say(words);
}

async function instancesIn(context: CliContext, cluster: ControlPlane): Promise<readonly ServiceInstance[]> {
  return [
    ...(await listed<ServiceInstance>(context, cluster, serviceInstances)),
    ...(await listed<ServiceInstance>(context, cluster, namespacedServiceInstances)),
  ];
}

/** Reads the Tenants. A person who may not list them sees the bill without budgets. */
async function readBudgets(context: CliContext, cluster: ControlPlane): Promise<readonly Tenant[]> {
  try {
    return await listed<Tenant>(context, cluster, tenantType);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    context.terminal.say("Budgets are not compared: you may not list tenants.klutch.anynines.com.");
    return [];
  }
}

/** Most objects that lines name. */
const mostNamed = 5;

/** Names the ledgers that the bill leaves out. */
function ledgerFaults({ terminal }: CliContext, damaged: readonly DamagedLedger[]): readonly string[] {
  for (const { name, fault } of damaged.slice(0, mostNamed))
    terminal.say(`The bill leaves UsageLedger ${plainText(name, 253)} out: ${plainText(fault, 300)}.`);
  if (damaged.length > mostNamed) terminal.say(`${damaged.length - mostNamed} more ledgers are damaged.`);
  return damaged.length === 0 ? [] : [counted(damaged.length, "damaged ledger")];
}

/** Names the backups whose manager tells no size that can be, or another one than before. */
function sizeFaults({ terminal }: CliContext, doubtful: readonly DoubtfulBackup[]): readonly string[] {
  for (const { name, fault, isSized } of doubtful.slice(0, mostNamed)) {
    const counts = isSized ? "the first told size" : "an unknown size";
    terminal.say(`Backup ${plainText(name, 253)} counts with ${counts}: ${plainText(fault, 300)}.`);
  }
  if (doubtful.length > mostNamed)
    terminal.say(`The sizes of ${doubtful.length - mostNamed} more backups are in doubt.`);
  return doubtful.length === 0 ? [] : [counted(doubtful.length, "doubtful backup size")];
}

/** Says that totals lack the cost of backups of an unknown size. */
function warnOfSizes({ terminal }: CliContext, lines: readonly BillLine[]): void {
  const without = lines.filter(({ backups }) => backups?.micros !== undefined && backups.unsizedSeconds > 0);
  const plans = new Set(without.map(({ service, plan }) => `${service}/${plan}`));
  if (plans.size === 0) return;
  const [first = ""] = plans;
  const more = plans.size > 1 ? ` and ${counted(plans.size - 1, "more plan")}` : "";
  terminal.say(
    `Backups of ${JSON.stringify(first)}${more} have a price, and the backup manager told no size of some. Totals do not contain these; see docs/cost.md.`,
  );
}

function warnOfPrices({ terminal }: CliContext, lines: readonly BillLine[]): void {
  const without = new Set(
    lines.filter(({ currency }) => currency === undefined).map(({ service, plan }) => `${service}/${plan}`),
  );
  if (without.size === 0) return;
  const shown = [...without]
    .slice(0, 3)
    .map((name) => JSON.stringify(name))
    .join(", ");
  const more = without.size > 3 ? ` and ${without.size - 3} more` : "";
  terminal.say(
    `${counted(without.size, "plan")} without a price: ${shown}${more}. Totals do not contain them; see docs/cost.md.`,
  );
}

function collected(value: string, before: unknown): readonly string[] {
  return [...(Array.isArray(before) ? before.map(String) : []), value];
}

/** Usage is kept by month, so no shorter time can be asked for. */
function monthOf(value: unknown, flag: string): string | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === "string" ? value : "";
  const [, month] = /^(20\d\d-(?:0[1-9]|1[0-2]))(?:-01)?$/.exec(text) ?? [];
  if (month !== undefined) return month;
  throw new CliError(
    "Usage",
    `${flag} ${JSON.stringify(text)} is not the beginning of a month: usage is kept by month in UTC; write for example 2026-11.`,
  );
}
