/** Describes objects in the cluster to the composition function, in their Compositions. */
import { recordAt } from "@klutch/kube-core";
import {
  accepts,
  anyValue,
  describeProblem,
  map,
  object,
  oneOf,
  type Problem,
  problemsOf,
  type Schema,
  string,
  unknownFields,
} from "@klutch/schema";
import type { ComposedParameter } from "./composed-service.ts";
import { type FunctionInput, functionInput } from "./function-input.ts";
import { inputParameters, parameterProblems, readParameters } from "./input-parameters.ts";
import { serviceTypePattern } from "./table/file-schema.ts";
import { configName, type ObjectRecipe, objectRecipe } from "./table/object-table.ts";
import type { Takes, Target } from "./table/service-table.ts";

/** Name of objects in the input, for an instance or a shared kind. A function that does not know them refuses it. */
export const objectResource = "object";

/** Recipe of a type's object. */
interface ObjectEntry {
  readonly recipe: ObjectRecipe;
  /** Name of the ProviderConfig of provider-kubernetes. Default `kubernetes-provider`. */
  readonly providerConfig?: string | undefined;
  /** Map from the claim's names to the operator's. */
  readonly parameters?: Readonly<Record<string, string | Target>> | undefined;
}

/** `pipeline[].input` of a Composition of objects. */
interface ObjectInput extends FunctionInput {
  /** Type of an instance. The claims of a shared kind name their type themselves. */
  readonly type?: string | undefined;
  /** Recipes by type. */
  readonly objects: Readonly<Record<string, ObjectEntry>>;
  readonly takes?: Takes | undefined;
}

/** Recipe of an object, read from an input. */
export interface ComposedObject {
  readonly recipe: ObjectRecipe;
  readonly providerConfig: string;
  readonly parameters: readonly ComposedParameter[];
}

/** An input that was read. */
export interface ObjectInputRead {
  readonly type: string | undefined;
  readonly objects: ReadonlyMap<string, ComposedObject>;
}

/** The input for the objects of some types; `type` and `takes` for instances. */
export function objectInput(
  objects: readonly (readonly [type: string, object: ComposedObject])[],
  more: Pick<ObjectInput, "type" | "takes"> = {},
): ObjectInput {
  return {
    ...functionInput(objectResource),
    ...more,
    objects: Object.fromEntries(objects.map(([type, made]) => [type, entryOf(made)])),
  };
}

/** Name of the ProviderConfig where none is named. */
export const defaultObjectConfig = "kubernetes-provider";

function entryOf({ recipe, providerConfig, parameters }: ComposedObject): ObjectEntry {
  return {
    recipe,
    ...(providerConfig === defaultObjectConfig ? {} : { providerConfig }),
    ...(parameters.length === 0 ? {} : { parameters: inputParameters(parameters) }),
  };
}

const typeName: Schema<string> = string({ pattern: serviceTypePattern, maxLength: 30 });

interface ReadEntry {
  readonly recipe: ObjectRecipe;
  readonly providerConfig?: string | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

const entry: Schema<ReadEntry> = object(
  { recipe: objectRecipe },
  { providerConfig: configName, parameters: map(anyValue()) },
);

interface ReadInput {
  readonly resource: typeof objectResource;
  readonly objects: Readonly<Record<string, ReadEntry>>;
  readonly type?: string | undefined;
}

const readInput: Schema<ReadInput> = object(
  { resource: oneOf([objectResource]), objects: map(entry) },
  { type: typeName },
);

/** Returns the objects that an input describes, or its faults; other code reads its `takes`. */
export function readObjectInput(input: unknown): ObjectInputRead | { readonly problem: string } {
  const problems: readonly Problem[] = [
    ...problemsOf(readInput.json, input, "input"),
    ...Object.entries(recordAt(input, "objects")).flatMap(([type, value]) => {
      const field = `input.objects.${type}`;
      return [...unknownFields(entry.json, value, field), ...parameterProblems(value, `${field}.parameters`)];
    }),
  ];
  if (problems.length > 0 || !accepts(readInput, input))
    return { problem: problems.map(describeProblem).join("; ") };
  const objects = Object.entries(input.objects).map(
    ([type, { recipe, providerConfig = defaultObjectConfig, parameters }]) =>
      [type, { recipe, providerConfig, parameters: readParameters(parameters) }] as const,
  );
  return { type: input.type, objects: new Map(objects) };
}
