/** `klutch explain`: why a claim is, or is not, well. Sends GET requests only. */
import { Command } from "commander";
import { createKubeClient, type LoadKubeconfigOptions, loadKubeconfig } from "@klutch/kube";
import type { ObjectRef, ResourceType } from "@klutch/kube-core";
import { type Above, explain, type Observed } from "@klutch/overview";
import { readComposed } from "@klutch/overview/read";
import { consumerOf, type Consumer } from "../clusters.ts";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { NotWellError } from "../findings.ts";
import { type CommonOptions, commonOptions, readFormat } from "../options.ts";
import { ownClusterNamespace } from "../verify/verify.ts";
import { formatExplanation } from "./print.ts";
import { readClaim, type ReadClaim } from "./read.ts";
import { readAbove } from "./read-above.ts";
import { parseWanted, resolveKind } from "./resolve.ts";

/** Flags of `explain`. */
interface ExplainOptions extends Pick<CommonOptions, "connection" | "requestTimeoutMs"> {
  readonly controlPlane: { readonly path: string | undefined; readonly context: string | undefined };
  readonly tenant: string | undefined;
  readonly output: "json" | "yaml" | undefined;
}

type Values = Readonly<Record<string, unknown>>;

/** The command. */
export function explainCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("explain"))
    .description("Explain why a claim is not ready, and who can fix it. Read-only.")
    .argument("<claim...>", "<kind>/<name>, for example postgresqlinstance/db; its namespace with -n")
    .option("--control-plane-kubeconfig <path>", "also read the control plane, with this kubeconfig")
    .option("--control-plane-context <name>", "also read the control plane, with this kubeconfig context")
    .option(
      "--tenant <namespace>",
      "cluster namespace of this app cluster in the control plane (default: that of the app cluster's credentials)",
    )
    .option("-o, --output <format>", "output format: json or yaml")
    .addHelpText("after", "\nExit codes: 0 all is well, 1 could not look, 2 the claim waits or failed.")
    .action(async (words: readonly string[]) => {
      const { output, ...values }: Values = command.opts();
      const textOf = (name: string): string | undefined =>
        typeof values[name] === "string" ? values[name] : undefined;
      await explainClaim(context, words, {
        ...commonOptions(values, context.env),
        controlPlane: { path: textOf("controlPlaneKubeconfig"), context: textOf("controlPlaneContext") },
        tenant: textOf("tenant"),
        output: readFormat(output, ["json", "yaml"]),
      });
    });
  tools.addConnectionFlags(command);
  for (const option of command.options)
    if (option.long === "--namespace") option.description = "namespace of the claim";
  return command;
}

async function explainClaim(
  context: CliContext,
  words: readonly string[],
  options: ExplainOptions,
): Promise<void> {
  const { signal, terminal } = context;
  const wanted = parseWanted(words);
  const config = await loadKubeconfig(options.connection);
  const { requestTimeoutMs } = options;
  await using consumer = consumerOf(
    config,
    createKubeClient(config, { userAgent: "klutch", requestTimeoutMs }),
  );
  const type = await resolveKind(consumer.client, wanted.kind, signal);
  const namespace = config.namespace ?? "default";
  const ref: ObjectRef = type.namespaced ? { namespace, name: wanted.name } : { name: wanted.name };
  const claim = await readClaim(context, consumer, type, ref);
  const above = await readUpper(context, consumer, type, claim, options);
  const explanation = explain({ ...claim.observed, above });
  terminal.out(formatExplanation(explanation, options.output));
  if (explanation.state !== "well") throw new NotWellError(`${words.join(" ")}: ${explanation.state}.`);
}

async function readUpper(
  context: CliContext,
  consumer: Consumer,
  type: ResourceType,
  { observed, object }: ReadClaim,
  options: ExplainOptions,
): Promise<Above | undefined> {
  const { signal, env } = context;
  const { controlPlane, tenant, requestTimeoutMs } = options;
  if (isAbove(observed)) return readComposed({ client: consumer.client, signal }, type, object);
  if (controlPlane.path === undefined && controlPlane.context === undefined) {
    if (tenant === undefined) return undefined;
    throw new CliError(
      "Usage",
      "--tenant needs --control-plane-kubeconfig or --control-plane-context: it names a namespace of the control plane.",
    );
  }
  const named: LoadKubeconfigOptions = { ...controlPlane, env };
  const config = await loadKubeconfig(named);
  await using client = createKubeClient(config, { userAgent: "klutch", requestTimeoutMs });
  const space = tenant ?? (await ownClusterNamespace(context, consumer, "--tenant"));
  return await readAbove({ client, signal }, space, type, object);
}

function isAbove({ from }: Observed): boolean {
  return from === "control plane";
}
