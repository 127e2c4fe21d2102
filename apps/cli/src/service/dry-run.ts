/** Asks the control plane whether it would take everything, before anything is written. */
import { ApiError, isInvalid } from "@klutch/kube";
import { customResourceDefinitions, recordsAt, textAt } from "@klutch/kube-core";
import { type Generation, manifestsOf, ruleField, type ServiceManifests } from "@klutch/services";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { counted } from "../findings.ts";
import { type ControlPlane, missingPart, plannedOf, serviceManager } from "./control-plane.ts";
import type { ServiceFile } from "./file.ts";

/**
 * Lets the API server check all of it. The definition of claims goes first, in the form that Crossplane will give it: only so are its CEL rules
 * compiled. Prints every refused rule with its line; throws `CliError` when something is refused.
 */
export async function dryRun(
  context: CliContext,
  { client }: ControlPlane,
  file: ServiceFile,
  generation: Generation,
): Promise<void> {
  const { signal } = context;
  const options = { fieldManager: serviceManager, dryRun: true, signal };
  const manifests = manifestsOf(generation, file.table);
  try {
    // By force, because Crossplane has written the existing one.
    await client.apply(customResourceDefinitions, manifests.claims, { ...options, force: true });
  } catch (error) {
    if (!(error instanceof ApiError) || !isInvalid(error)) throw error;
    const lines = refusals(error, file, { ...manifests, generation });
    for (const line of lines) context.terminal.say(line);
    throw new CliError(
      "Manifest",
      `The API server refuses ${counted(lines.length, "rule")} of ${file.path}. ${nothingChanged}`,
      {
        cause: error,
      },
    );
  }
  for (const { type, object } of plannedOf(manifests, generation)) {
    try {
      await client.apply(type, object, options);
    } catch (error) {
      throw missingPart(error, type);
    }
  }
}

/** Prints one line for each refusal, with the line of the table where its field is defined. */
function refusals(
  error: ApiError,
  { path, table, lineOf }: ServiceFile,
  { xrd, generation }: ServiceManifests & { readonly generation: Generation },
): readonly string[] {
  const causes = recordsAt(error.details, "causes");
  if (causes.length === 0) return [`${path}: ${error.message}`];
  const refused = causes.map((cause) => {
    const field = textAt(cause, "field") ?? "";
    const place = ruleField(generation, table, xrd, field);
    const message = (textAt(cause, "message") ?? "")
      .replace(/^Invalid value: \{.*\}: /, "")
      .replaceAll(/\s+/g, " ");
    return { line: place === undefined ? undefined : lineOf(place), text: `${place ?? field}: ${message}` };
  });
  const lines = refused
    .toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0))
    .map(({ line, text }) => [path, ...(line === undefined ? [] : [line]), ` ${text}`].join(":"));
  return [...new Set(lines)];
}
