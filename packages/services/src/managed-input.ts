/** Describes a managed resource of another Crossplane provider to the composition function, in its Composition. */
import {
  accepts,
  anyValue,
  boolean,
  describeProblem,
  list,
  map,
  object,
  oneOf,
  type Problem,
  problemsOf,
  type Schema,
  string,
  unknownFields,
} from "@klutch/schema";
import { type ManifestRecipe, patch, reported } from "./table/object-table.ts";

/** Name of managed resources of other providers in the input. A function that does not know them refuses it. */
export const managedResourceInput = "managed-resource";

/** A managed resource, read from an input. */
export interface ManagedInputRead extends ManifestRecipe {
  /** True if the kind is namespaced. Default false; that of a namespaced composite always is. */
  readonly namespaced?: boolean | undefined;
  /** Namespace of the Secret that its provider writes the connection details to. Default: it writes none. */
  readonly connectionSecretNamespace?: string | undefined;
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

interface Read extends ManagedInputRead {
  readonly resource: typeof managedResourceInput;
  readonly manifest: Manifest & Readonly<Record<string, unknown>>;
}

const texts: Schema<Readonly<Record<string, string>>> = map(string({ maxLength: 1024 }));
const read: Schema<Read> = object(
  {
    resource: oneOf([managedResourceInput]),
    manifest: object(
      {
        // A managed resource has a group of its own; kinds of Kubernetes have none, or one without a dot.
        apiVersion: string({ pattern: "^[a-z0-9-]+(\\.[a-z0-9-]+)+/v[a-z0-9]+$", maxLength: 253 }),
        kind: string({ pattern: "^[A-Z][A-Za-z0-9]*$", maxLength: 63 }),
        spec: map(anyValue()),
      },
      { metadata: object({}, { labels: texts, annotations: texts }) },
    ),
  },
  {
    patches: list(patch, { maxItems: 100 }),
    status: list(reported, { maxItems: 30 }),
    namespaced: boolean(),
    connectionSecretNamespace: string({ pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63 }),
  },
);

/** Fields of the input that other code reads. */
const others: readonly string[] = ["apiVersion", "kind", "takes", "revision"];

/** Returns the managed resource that an input describes, or the faults of the input; other code reads its `takes`. */
export function readManagedInput(input: unknown): ManagedInputRead | { readonly problem: string } {
  const isOther = ({ field }: Problem): boolean => others.some((name) => field === `input.${name}`);
  const problems: readonly Problem[] = [
    ...problemsOf(read.json, input, "input"),
    ...unknownFields(read.json, input, "input").filter((problem) => !isOther(problem)),
  ];
  if (problems.length > 0 || !accepts(read, input))
    return { problem: problems.map(describeProblem).join("; ") };
  const index = (input.patches ?? []).findIndex(({ from }) => from === "parameters");
  if (index >= 0)
    return {
      problem: `input.patches[${index}].from is "parameters", which only services with a table have; name a field, such as spec.size`,
    };
  return input;
}
