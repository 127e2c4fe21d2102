/** Describes a service to the composition function, in its Composition, so that the function composes services that are not compiled in. */
import {
  accepts,
  anyValue,
  boolean,
  describeProblem,
  map,
  object,
  oneOf,
  problemsOf,
  type Schema,
  string,
} from "@klutch/schema";
import { recordAt } from "@klutch/kube-core";
import { readConnection } from "./render/connection-text.ts";
import { serviceTypePattern } from "./table/file-schema.ts";
import type { ConnectionSource, Takes, Target } from "./table/service-table.ts";
import type { ComposedService } from "./composed-service.ts";
import type { DataService, Making } from "./data-service.ts";
import { type FunctionInput, functionInput } from "./function-input.ts";
import { inputParameters, parameterProblems, readParameters } from "./input-parameters.ts";

/** Name of instances of a service that the input describes. */
export const instanceResource = "service-instance";

/** `pipeline[].input` of the Composition of a service's instances. */
interface InstanceInput extends FunctionInput {
  readonly type: string;
  /** Map from the claim's names to the broker's. */
  readonly parameters: Readonly<Record<string, string | Target>>;
  readonly takes?: Takes | undefined;
  readonly connection?: readonly ConnectionSource[] | undefined;
  /** Default true. */
  readonly takesRegion?: false | undefined;
}

type InputService = Pick<DataService, "type" | "connection" | "takesRegion"> &
  Pick<Making, "parameters" | "takes">;

/** The input for a service. */
export function instanceInput({
  type,
  parameters,
  takes,
  connection,
  takesRegion,
}: InputService): InstanceInput {
  return {
    ...functionInput(instanceResource),
    type,
    parameters: inputParameters(parameters),
    ...(takes === undefined ? {} : { takes }),
    ...(connection.length === 0 ? {} : { connection }),
    ...(takesRegion ? {} : { takesRegion }),
  };
}

interface ReadInput {
  readonly resource: typeof instanceResource;
  readonly type: string;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
  readonly takesRegion?: boolean | undefined;
}

const readInput: Schema<ReadInput> = object(
  {
    resource: oneOf([instanceResource]),
    type: string({ pattern: serviceTypePattern, maxLength: 30 }),
  },
  { parameters: map(anyValue()), takesRegion: boolean() },
);

/** Returns the service that an input describes, or the faults of the input; other code reads its other fields. */
export function readInstanceInput(input: unknown): ComposedService | { readonly problem: string } {
  const read = readConnection(recordAt(input)["connection"] ?? [], "input.connection");
  const problems = [
    ...problemsOf(readInput.json, input, "input"),
    ...parameterProblems(input, "input.parameters"),
    ...("problems" in read ? read.problems : []),
  ];
  if ("problems" in read || problems.length > 0 || !accepts(readInput, input))
    return { problem: problems.map(describeProblem).join("; ") };
  const { type, parameters, takesRegion = true } = input;
  return { type, parameters: readParameters(parameters), connection: read.connection, takesRegion };
}
