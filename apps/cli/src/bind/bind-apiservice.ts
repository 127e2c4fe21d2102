/** `kubectl bind apiservice`: bind the APIs of a manifest with a kubeconfig that is already at hand. */
import { readFile } from "node:fs/promises";
import { decodeRequest, type ExportRequestResponse, WireError } from "@klutch/api";
import { parseYamlDocuments } from "@klutch/kube";
import { bindApis } from "./apis.ts";
import { requireBindable } from "../app-cluster/bindable.ts";
import { connectConsumer, connectProvider, remoteKubeconfig } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { plannedApis } from "./dry-run.ts";
import { CliError } from "../errors.ts";
import { fetchText } from "../http.ts";
import type { BindApiServiceOptions } from "../options.ts";
import { formatObjects } from "../output.ts";
import { checkRequests } from "./requested.ts";
import { showBindings } from "./show-bindings.ts";

/** Runs the command. Manifest and kubeconfig are checked before anything is written anywhere. */
export async function bindApiService(
  context: CliContext,
  url: string | undefined,
  options: BindApiServiceOptions,
): Promise<void> {
  const { signal, terminal } = context;
  const request = await readRequest(context, options.file, url);
  checkRequests([request], options.file === undefined ? `The manifest of ${url}` : "The manifest");
  await using consumer = await connectConsumer(options);
  await requireBindable(context, consumer);
  const { text, origin } = await remoteKubeconfig(consumer, options, signal);
  await using provider = connectProvider(text, origin, {
    namespace: options.remoteNamespace,
    requestTimeoutMs: options.requestTimeoutMs,
  });
  if (options.dryRun) {
    const objects = await plannedApis(context, consumer, provider, [request], options);
    terminal.say("Dry run: nothing was changed.");
    terminal.out(formatObjects(objects, options.output ?? "yaml", options));
    return;
  }
  // The user vouches for a manifest in a file, but not for one from a URL.
  const chosen = url === undefined ? undefined : { at: url };
  const bindings = await bindApis(context, consumer, provider, [request], options, chosen);
  await showBindings(context, consumer, bindings, options);
}

async function readRequest(
  context: CliContext,
  file: string | undefined,
  url: string | undefined,
): Promise<ExportRequestResponse> {
  const origin = file === "-" ? "standard input" : (file ?? url ?? "");
  const text =
    file === "-"
      ? await context.terminal.readAll()
      : file === undefined
        ? await fetchText(origin, context.signal)
        : await readManifest(file);
  return decodeManifest(text, origin);
}

async function readManifest(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new CliError("Manifest", `-f ${path} cannot be read.`, { cause });
  }
}

/** The one APIServiceExportRequest in a manifest. Throws `CliError` naming the field that is wrong. */
function decodeManifest(text: string, origin: string): ExportRequestResponse {
  let documents: unknown[];
  try {
    documents = parseYamlDocuments(text);
  } catch (cause) {
    throw new CliError("Manifest", `${origin} is not YAML: ${cause instanceof Error ? cause.message : ""}`, {
      cause,
    });
  }
  if (documents.length !== 1) {
    throw new CliError("Manifest", `${origin} holds ${documents.length} objects; exactly one is needed.`);
  }
  try {
    return decodeRequest(documents[0], "manifest");
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    throw new CliError("Manifest", `${origin} is not an APIServiceExportRequest: ${cause.message}.`, {
      cause,
    });
  }
}
