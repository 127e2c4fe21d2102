/** Reads the body of a confirmation, which anyone may have written. */
import { WireError } from "@klutch/api";
import { type ActionName, actionNames, type ActionRequest } from "@klutch/overview";
import { isRecord } from "@klutch/kube-core";

const fields = ["row", "token"] as const;
const longest = { row: 1_000, token: 4_096 };

/** Throws `WireError` that names the field. */
export function actionRequest(value: unknown): ActionRequest {
  if (!isRecord(value)) throw new WireError("body", "must be an object with row and token");
  for (const name of Object.keys(value))
    if (!fields.some((known) => known === name))
      throw new WireError(JSON.stringify(name.slice(0, 40)), "is not a field; it must be row or token");
  const text = (name: (typeof fields)[number]): string => {
    const given = value[name];
    if (typeof given !== "string" || given === "" || given.length > longest[name])
      throw new WireError(name, `must be a text of 1 to ${longest[name]} characters`);
    return given;
  };
  return { row: text("row"), token: text("token") };
}

/** Returns the action of a path; undefined for another word. */
export function actionNameOf(word: string): ActionName | undefined {
  return actionNames.find((name) => name === word);
}
