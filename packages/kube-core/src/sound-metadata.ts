/** `metadata` of which every field has the type it must have: the rest of the program reads it without checks. */
import { isRecord } from "./is-record.ts";
import type { ObjectMeta } from "./object.ts";

type Fields = Readonly<Record<string, unknown>>;

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const isTextMap = (value: unknown): boolean => {
  if (!isRecord(value)) return false;
  for (const name in value) if (typeof value[name] !== "string") return false;
  return true;
};
const isListOf =
  (isItem: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(isItem);
const isOwner = (value: unknown): boolean =>
  isRecord(value) && ["apiVersion", "kind", "name", "uid"].every((name) => isText(value[name]));

/** Types of the checked fields. Other fields are not checked. */
const checks: readonly (readonly [keyof ObjectMeta, (value: unknown) => boolean])[] = [
  ["name", isText],
  ["namespace", isText],
  ["generateName", isText],
  ["uid", isText],
  ["resourceVersion", isText],
  ["generation", isNumber],
  ["creationTimestamp", isText],
  ["deletionTimestamp", isText],
  ["deletionGracePeriodSeconds", isNumber],
  ["labels", isTextMap],
  ["annotations", isTextMap],
  ["finalizers", isListOf(isText)],
  ["ownerReferences", isListOf(isOwner)],
  ["managedFields", isListOf(isRecord)],
];

/** The metadata as it is when it is sound; else without the fields that are not what they must be, as if they had not been sent. */
export function soundMetadata(metadata: Fields): Fields {
  const wrong = checks.filter(([name, isRight]) => metadata[name] !== undefined && !isRight(metadata[name]));
  if (wrong.length === 0) return metadata;
  const names = new Set<string>(wrong.map(([name]) => name));
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !names.has(name)));
}
