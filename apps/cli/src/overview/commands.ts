/** `klutch status`, `clusters`, `offers` and `top` with their flags. */
import { Command } from "commander";
import { connectConsumer } from "../clusters.ts";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { problemsIn, type Section, sectionsObject, sectionsText } from "../doctor/diagnosis.ts";
import { CliError } from "../errors.ts";
import { counted, NotWellError } from "../findings.ts";
import { commonOptions, readFormat } from "../options.ts";
import { documentText } from "../output.ts";
import { addControlPlaneFlags } from "../service/commands.ts";
import { type ControlPlane, connectControlPlane } from "../service/control-plane.ts";
import { lookAtClusters, lookAtLoad, lookAtOffers } from "./lists.ts";
import { lookAtNewOffers } from "./new-offers.ts";
import { type TopOrder, topOrders } from "./rows.ts";
import { shortened, statusSections } from "./status.ts";
import { listFormats, type ListFormat } from "./table.ts";
import { type Look, printLooks } from "./watch.ts";

type Values = Readonly<Record<string, unknown>>;

const exitCodes = "\nExit codes: 0 all is well, 1 could not look, 2 something is not well.";
const watchText = "look again every 5 seconds and print what has changed, until Ctrl-C";

/** The commands that show a whole cluster. */
export function overviewCommands(context: CliContext, tools: CommandTools): readonly Command[] {
  return [statusCommand(context, tools), ...listCommands(context, tools)];
}

function statusCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("status"))
    .description("Show whether all is well in an app cluster or a control plane, else what to do. Read-only.")
    .option("-o, --output <format>", "output format: json, yaml, wide or name")
    .option("-w, --watch", watchText)
    .addHelpText("after", exitCodes)
    .action(async () => {
      const { output, watch, ...values }: Values = command.opts();
      const format = readFormat(output, listFormats);
      await using consumer = await connectConsumer(commonOptions(values, context.env));
      let left = 0;
      const look = async (): Promise<Look> => {
        const sections = await statusSections(context, consumer);
        left = problemsIn(sections);
        const end = left === 0 ? "All is well.\n" : `${counted(left, "problem")}.\n`;
        const textOf = (): string => {
          if (format === "json" || format === "yaml")
            return documentText(sectionsObject(sections, left), format);
          if (format === "name") return unwellTitles(sections);
          return `${sectionsText(format === "wide" ? sections : shortened(sections))}${end}`;
        };
        return { text: textOf(), isWell: left === 0 };
      };
      if (!(await printLooks(context, watch === true, look)))
        throw new NotWellError(`${counted(left, "problem")} found.`);
    });
  tools.addConnectionFlags(command);
  return command;
}

/** Lists the sections with a problem, one a line. */
function unwellTitles(sections: readonly Section[]): string {
  return sections.flatMap((one) => (problemsIn([one]) > 0 ? [`${one.title}\n`] : [])).join("");
}

type LookAt = (cluster: ControlPlane, format: ListFormat | undefined, values: Values) => Promise<Look>;

function listCommands(context: CliContext, tools: CommandTools): readonly Command[] {
  const make = (name: string, text: string, lookAt: LookAt): Command => {
    const command = tools
      .prepare(new Command(name))
      .description(text)
      .option("-o, --output <format>", "output format: json, yaml, wide or name")
      .option("-w, --watch", watchText)
      .action(async () => {
        const { output, watch, ...values }: Values = command.opts();
        const format = readFormat(output, listFormats);
        const connection = commonOptions(values, context.env);
        if (values["new"] === true) {
          await using consumer = await connectConsumer(connection);
          await printLooks(context, watch === true, () => lookAtNewOffers(context, consumer, format));
          return;
        }
        await using cluster = await connectControlPlane(connection);
        const isWell = await printLooks(context, watch === true, () => lookAt(cluster, format, values));
        if (!isWell) throw new NotWellError(`${name}: something is not well.`);
      });
    return command;
  };
  const clusters = make(
    "clusters",
    "List the app clusters of a control plane, those with a problem first. Read-only.",
    (cluster, format) => lookAtClusters(context, cluster, format),
  ).addHelpText("after", exitCodes);
  const offers = make(
    "offers",
    "List the APIs that a control plane offers, those with a problem first. Read-only.",
    (cluster, format) => lookAtOffers(context, cluster, format),
  )
    .option("--new", "in an app cluster: list the APIs that it may bind and has not bound")
    .addHelpText("after", exitCodes);
  const top = make(
    "top",
    "List the app clusters of a control plane by their load, errors or lag. Read-only.",
    (cluster, format, { sortBy }) => lookAtLoad(context, cluster, format, orderOf(sortBy)),
  ).option("--sort-by <column>", `what comes first: ${topOrders.join(", ")} (default: claims)`);
  for (const command of [clusters, offers, top]) addControlPlaneFlags(command, tools);
  return [clusters, offers, top];
}

/** Throws `CliError` Usage with the allowed columns. */
function orderOf(value: unknown): TopOrder {
  const found = topOrders.find((order) => order === (value ?? "claims"));
  if (found !== undefined) return found;
  throw new CliError("Usage", `Unknown --sort-by ${String(value)}: use ${topOrders.join(", ")}.`);
}
