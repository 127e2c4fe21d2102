/** Plays Crossplane's part: hands over the objects that the function requires, until it requires nothing else. */
import assert from "node:assert/strict";
import type { ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { jsonEqual, recordAt, textAt } from "@klutch/kube-core";
import { compose } from "../compose.ts";

/** Rounds that Crossplane grants. */
const mostRounds = 5;

/** The last answer, and how many calls it took. */
export interface Rounds {
  readonly answer: ComposeResponse;
  readonly calls: number;
}

/** Calls the function as often as Crossplane does in a cluster with these objects. */
export function composeIn(cluster: readonly Json[], request: Omit<ComposeRequest, "required">): Rounds {
  let required: ComposeRequest["required"];
  let asked: ComposeResponse["required"];
  for (let calls = 1; calls <= mostRounds; calls++) {
    const answer = compose({ ...request, required });
    const isFatal = answer.results?.some(({ severity }) => severity === "fatal") === true;
    if (isFatal || answer.required === undefined || jsonEqual(answer.required, asked))
      return { answer, calls };
    asked = answer.required;
    required = Object.fromEntries(
      Object.entries(asked).map(([name, { apiVersion, kind, matchLabels }]) => [
        name,
        cluster.filter(
          (object) =>
            object["apiVersion"] === apiVersion &&
            object["kind"] === kind &&
            Object.entries(matchLabels).every(
              ([label, value]) => textAt(recordAt(object, "metadata", "labels"), label) === value,
            ),
        ),
      ]),
    );
  }
  return assert.fail(`the function still requires ${JSON.stringify(asked)} after ${mostRounds} calls`);
}
