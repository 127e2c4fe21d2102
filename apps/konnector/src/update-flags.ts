/** Flags of the konnector for updates that the app cluster's operator allows (designs/0035-waves.md). */
import {
  type KonnectorUpdateScope,
  parseRegistry,
  RegistryError,
  releaseVersion,
  type UpdateLine,
  updateLines,
} from "@klutch/api";
import { type Flag, oneOf, optional, optionalText, type ValuesOf } from "@klutch/program";

type UpdateFlags = Readonly<Record<"update-repository" | "update-floor", Flag<string | undefined>>> & {
  readonly "follow-updates": Flag<UpdateLine | undefined>;
};

/** The flags by name. */
export const updateFlags: UpdateFlags = {
  "follow-updates": optional(
    oneOf(updateLines, {
      help: "Run the version that the control plane wants: patch takes those of the floor's minor version, minor those of its major version. Default: neither",
      default: "patch",
    }),
  ),
  "update-repository": optionalText({
    value: "image",
    help: "with --follow-updates: image without a tag, of which alone other versions are run",
  }),
  "update-floor": optionalText({
    value: "version",
    help: "with --follow-updates: the lowest version that is run, such as v1.6.0",
  }),
};

/** Reads them; undefined where nothing is followed. Adds each fault to `faults`. */
export function updatesOf(
  values: ValuesOf<typeof updateFlags> & { readonly "control-plane-mode": boolean },
  faults: string[],
): KonnectorUpdateScope | undefined {
  const { "follow-updates": line, "update-repository": repository = "", "update-floor": floor = "" } = values;
  if (line === undefined) {
    if (repository !== "") faults.push("--update-repository is only used with --follow-updates");
    if (floor !== "") faults.push("--update-floor is only used with --follow-updates");
    return undefined;
  }
  if (values["control-plane-mode"])
    faults.push("--follow-updates and --control-plane-mode exclude each other");
  try {
    parseRegistry(repository, "--update-repository");
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    faults.push(error.message);
  }
  if (releaseVersion(floor) === undefined)
    faults.push(
      `--update-floor is ${JSON.stringify(floor.slice(0, 40))}, must be the version of a release, such as v1.6.0`,
    );
  return { line, repository, floor };
}
