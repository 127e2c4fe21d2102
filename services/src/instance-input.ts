/** What the composition function is told of a service, in its Composition: so that it composes services that it has never heard of. */
import { recordAt } from "@klutch/kube-core";
import {
  accepts,
  anyValue,
  describeProblem,
  map,
  object,
  oneOf,
  problemsOf,
  type Schema,
  string,
  unknownFields,
} from "@klutch/schema";
import { readConnection } from "./render/connection-text.ts";
import { serviceTypePattern, target } from "./table/file-schema.ts";
import type { ConnectionSource, Takes, Target } from "./table/service-table.ts";
import type { ComposedService } from "./composed-service.ts";
import type { DataService } from "./data-service.ts";
import { type FunctionInput, functionInput } from "./function-input.ts";

/** What the input calls instances of a service that it describes. */
export const instanceResource = "service-instance";

/** `pipeline[].input` of the Composition of a service's instances. */
interface InstanceInput extends FunctionInput {
  readonly type: string;
  /** From the claim's names to the broker's. */
  readonly parameters: Readonly<Record<string, string | Target>>;
  readonly takes?: Takes | undefined;
  readonly connection?: readonly ConnectionSource[] | undefined;
}

/** The input for a service. */
export function instanceInput({ type, parameters, takes, connection }: DataService): InstanceInput {
  const targets = parameters.map(({ name, brokerKey: key, as }): readonly [string, string | Target] => [
    name,
    as === undefined ? key : { key, as },
  ]);
  return {
    ...functionInput(instanceResource),
    type,
    parameters: Object.fromEntries(targets),
    ...(takes === undefined ? {} : { takes }),
    ...(connection.length === 0 ? {} : { connection }),
  };
}

interface ReadInput {
  readonly resource: typeof instanceResource;
  readonly type: string;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

const readInput: Schema<ReadInput> = object(
  {
    resource: oneOf([instanceResource]),
    type: string({ pattern: serviceTypePattern, maxLength: 30 }),
  },
  { parameters: map(anyValue()) },
);

/** The service that an input describes, or what is wrong with the input; its other fields are read elsewhere. */
export function readInstanceInput(input: unknown): ComposedService | { readonly problem: string } {
  const parameters = Object.entries(recordAt(input, "parameters")).map(
    ([name, value]) => [name, typeof value === "string" ? { key: value } : value] as const,
  );
  const read = readConnection(recordAt(input)["connection"] ?? [], "input.connection");
  const problems = [
    ...problemsOf(readInput.json, input, "input"),
    ...("problems" in read ? read.problems : []),
    ...parameters.flatMap(([name, value]) => {
      const field = `input.parameters.${name}`;
      return [...problemsOf(target.json, value, field), ...unknownFields(target.json, value, field)];
    }),
  ];
  if ("problems" in read || problems.length > 0 || !accepts(readInput, input))
    return { problem: problems.map(describeProblem).join("; ") };
  return {
    type: input.type,
    connection: read.connection,
    parameters: parameters.flatMap(([name, value]) =>
      accepts(target, value) ? [{ name, brokerKey: value.key, as: value.as }] : [],
    ),
  };
}
