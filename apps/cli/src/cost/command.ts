/** `klutch cost` and its flags: what the databases of a control plane cost. */
import {
  monthAt,
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
import { type BillLine, billOf, type DamagedLedger, pricesNamespace } from "@klutch/services";
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
import { readPrices } from "./prices.ts";
import { type CostFormat, costFormats, printedBill } from "./print.ts";

interface CostOptions extends Omit<CommonOptions, "output"> {
  readonly since: string;
  readonly until: string | undefined;
  readonly tenants: readonly string[];
  readonly prices: string | undefined;
  readonly pricesNamespace: string;
  readonly format: CostFormat;
}

const exitCodes = "\nExit codes: 0 the bill is whole, 1 there is none, 2 it leaves damaged ledgers out.";
const monthHelp = "such as 2026-11, in UTC";

/** The command, for operators of a control plane. */
export function costCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("cost"))
    .description("Show what databases cost, by app cluster, service and plan. Read-only.")
    .option("--since <month>", `first month, ${monthHelp} (default: this month)`)
    .option("--until <month>", `month after the last one, ${monthHelp} (default: until now)`)
    .option(
      "--tenant <namespace>",
      "cluster namespace of one app cluster; may be repeated (default: all)",
      collected,
    )
    .option("--prices <file>", "price list to use instead of the control plane's")
    .option("--prices-namespace <name>", "namespace of the ConfigMap klutch-prices", pricesNamespace)
    .option("-o, --output <format>", `output format: ${costFormats.join(", ")}`)
    .addHelpText("after", exitCodes)
    .action(async () => {
      const { output, ...values }: Readonly<Record<string, unknown>> = command.opts();
      const { since, until, tenant, prices, pricesNamespace } = values;
      await cost(context, {
        ...commonOptions(values, context.env),
        since: monthOf(since, "--since") ?? monthAt(context.clock.now()),
        until: monthOf(until, "--until"),
        tenants: Array.isArray(tenant) ? tenant.map(String) : [],
        prices: typeof prices === "string" ? prices : undefined,
        pricesNamespace: String(pricesNamespace),
        format: readFormat(output, costFormats),
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
  // Instances first: see `Recorded`.
  const instances = [
    ...(await listed<ServiceInstance>(context, cluster, serviceInstances)),
    ...(await listed<ServiceInstance>(context, cluster, namespacedServiceInstances)),
  ];
  const ledgers = await listed<UsageLedger>(context, cluster, usageLedgers);
  const spaces = await listed<KubeObject>(context, cluster, namespaces);
  const now = context.clock.now();
  const bill = billOf({ instances, ledgers, namespaces: spaces }, book, { since, until, now });
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
  if (lines.length === 0 && isTable) context.terminal.say("No database existed in this time.");
  else context.terminal.out(printedBill(lines, { since, until }, format, { marks, damaged: bill.damaged }));
  warnOfPrices(context, lines);
  for (const line of budgetLines(marks)) context.terminal.say(line);
  if (bill.damaged.length > 0) throw damagedLedgers(context, bill.damaged);
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

/** Names the ledgers that the bill leaves out. */
function damagedLedgers({ terminal }: CliContext, damaged: readonly DamagedLedger[]): NotWellError {
  const most = 5;
  for (const { name, fault } of damaged.slice(0, most))
    terminal.say(`The bill leaves UsageLedger ${plainText(name, 253)} out: ${plainText(fault, 300)}.`);
  if (damaged.length > most) terminal.say(`${damaged.length - most} more ledgers are damaged.`);
  return new NotWellError(`cost: ${counted(damaged.length, "damaged ledger")}.`);
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
