/** Shows the way of one claim: its steps, the one it waits for, since when, who can go on, and the command for it. */
import { type ReactElement, useState } from "react";
import { Button } from "react-aria-components/Button";
import type { Remedy, State, Step, Who } from "@klutch/overview/explanation";
import { titles } from "@klutch/overview/explanation";
import { useWay } from "../live/hooks.ts";
import type { ClaimKey } from "../live/requests.ts";
import { Age, formatNumber } from "../view/words.tsx";

const signs: Readonly<Record<State, string>> = {
  done: "✓",
  waiting: "…",
  failed: "!",
  pending: "·",
  unknown: "?",
};
const stateWords: Readonly<Record<State, string>> = {
  done: "done",
  waiting: "waiting",
  failed: "failed",
  pending: "comes later",
  unknown: "not visible to you",
};
/** Who can go on, as the start of a sentence. */
export const people: Readonly<Record<Who, string>> = {
  developer: "The developer can fix this",
  operator: "The operator can fix this",
  broker: "The service broker must go on",
  none: "It goes on by itself",
};

/** `version` changes when the way should be asked for again. */
export function ClaimWay(props: { readonly claim: ClaimKey; readonly version: unknown }): ReactElement {
  const way = useWay(props.claim, props.version);
  return (
    <section className="way" aria-label="Way of the claim">
      <h3>Its way</h3>
      {way.state === "loading" && (
        <div className="skeleton" role="status">
          <span className="hidden">Loading the way …</span>
          <div className="bone" aria-hidden="true" />
          <div className="bone" aria-hidden="true" />
          <div className="bone" aria-hidden="true" />
        </div>
      )}
      {way.state === "failed" && (
        <p role="status">
          {way.words.error} {way.words.advice}
        </p>
      )}
      {way.state === "ready" && (
        <>
          {way.explanation.cause !== "" && <p className="cause">{way.explanation.cause}</p>}
          <ol>
            {way.explanation.steps.map((step, index) => (
              <StepLine key={index} step={step} waits={isSame(step, way.explanation.waitsFor)} />
            ))}
          </ol>
          {way.explanation.usualSeconds !== undefined && way.explanation.state !== "well" && (
            <p className="soft">Others of this kind were ready after {span(way.explanation.usualSeconds)}.</p>
          )}
          {way.explanation.notes.map((note) => (
            <p key={note} className="soft">
              {note}
            </p>
          ))}
        </>
      )}
    </section>
  );
}

/** The step that the claim waits for comes as a copy. */
function isSame(step: Step, other: Step | undefined): boolean {
  return other !== undefined && step.station === other.station && step.object === other.object;
}

function StepLine({ step, waits }: { readonly step: Step; readonly waits: boolean }): ReactElement {
  const { station, state, text, object, since, remedy } = step;
  return (
    <li className={`step ${state}`} {...(waits && { "aria-current": "step" })}>
      <span className="sign" aria-hidden="true">
        {signs[state] ?? "?"}
      </span>
      <div>
        <p className="line">
          <strong>{titles[station] ?? station}</strong>
          {object !== undefined && <code>{object}</code>}
          <span className="hidden">: {stateWords[state] ?? state}</span>
          {since !== undefined && (
            <span className="soft when">
              {waits && "since "}
              <Age at={since} />
            </span>
          )}
        </p>
        {text !== "" && <p>{text}</p>}
        {waits && remedy !== undefined && <RemedyLines remedy={remedy} />}
      </div>
    </li>
  );
}

function RemedyLines({ remedy }: { readonly remedy: Remedy }): ReactElement {
  return (
    <>
      <p className="soft">{people[remedy.who] ?? remedy.who}.</p>
      {remedy.next !== "" && <NextStep next={remedy.next} />}
    </>
  );
}

/** A next step; a command can be copied. */
export function NextStep({ next }: { readonly next: string }): ReactElement {
  const [copied, setCopied] = useState(false);
  if (!/^(kubectl|klutch|helm|crossplane|kubectl-bind) /.test(next)) return <p>{next}</p>;
  const copy = (): void => {
    navigator.clipboard.writeText(next).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <div className="command">
      <code>{next}</code>
      <Button onPress={copy} aria-label="Copy the command">
        {copied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

function span(seconds: number): string {
  if (seconds < 120) return `${formatNumber(seconds)} seconds`;
  return `${formatNumber(Math.round(seconds / 60))} minutes`;
}
