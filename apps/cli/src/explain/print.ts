/** Prints an explanation: as text with one line for each step, or as JSON or YAML for programs. */
import { durationText, type Explanation, people, remedyOf, type Step, titles } from "@klutch/overview";
import { columns, documentText } from "../output.ts";

const marks = { done: "done", waiting: "waiting", failed: "failed", pending: "-", unknown: "?" } as const;

/** Returns the text. */
export function explanationText(explanation: Explanation): string {
  const { kind, name, namespace, api, state, steps, waitsFor, usualSeconds, cause, notes } = explanation;
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  const rows = steps.map((step) => [
    marks[step.state],
    indent(step) + titles[step.station],
    timeOf(step),
    textOf(step),
  ]);
  const remedy = remedyOf(explanation);
  const usual =
    usualSeconds === undefined
      ? ""
      : `; others of this kind took about ${durationText(usualSeconds * 1_000)}`;
  const said =
    waitsFor === undefined || remedy === undefined
      ? []
      : [
          ["waits for", `${titles[waitsFor.station]}${state === "waiting" ? usual : ""}`],
          ["cause", cause === "" ? "the step above has said nothing yet" : cause],
          ["who", remedy.who === "none" ? people.none : `${people[remedy.who]} can fix it`],
          ...(remedy.next === "" ? [] : [["next", remedy.next]]),
        ];
  const ends = said.length === 0 ? "All is well.\n" : columns(said);
  const stars = steps.some(({ clock, since }) => clock === "control plane" && since !== undefined);
  const star = stars ? "Times with * are of the control plane's clock.\n" : "";
  const more = notes.map((note) => `note: ${note}\n`).join("");
  return `${kind} ${place} (${api}): ${state}\n\n${columns(rows)}${star}\n${ends}${more}`;
}

/** Several managed resources stand below their composite. */
function indent({ station }: Step): string {
  return station === "managed" ? "  " : station === "broker" ? "    " : "";
}

function timeOf({ since, clock }: Step): string {
  return since === undefined ? "" : `${since}${clock === "control plane" ? "*" : ""}`;
}

/** A line of the tree; the cause has the whole text. */
const mostText = 100;

function textOf({ object, text }: Step): string {
  const whole = [object ?? "", text].filter((part) => part !== "").join(": ");
  return whole.length > mostText ? `${whole.slice(0, mostText - 1).toWellFormed()}…` : whole;
}

/** Returns the object that `-o json` and `-o yaml` print. */
export function explanationObject(explanation: Explanation): object {
  const { waitsFor, cause, ...rest } = explanation;
  const remedy = remedyOf(explanation);
  return {
    ...rest,
    ...(waitsFor === undefined
      ? {}
      : { waitsFor: waitsFor.station, cause, who: remedy?.who, next: remedy?.next }),
  };
}

/** Returns the explanation in a format; undefined is text. */
export function formatExplanation(explanation: Explanation, format: "json" | "yaml" | undefined): string {
  if (format === undefined) return explanationText(explanation);
  const object = JSON.parse(JSON.stringify(explanationObject(explanation))) as object;
  return documentText(object, format);
}
