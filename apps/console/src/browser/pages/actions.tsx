/**
 * Actions of the open row. The server offers those that the person may do at this moment; a button leads to a confirmation that names the object
 * and what follows, and only the confirmation is sent.
 */
import type { Collection, ConsoleError, OfferedAction } from "@klutch/overview/console-wire";
import { type ReactElement, useEffect, useId, useRef, useState } from "react";
import { Button } from "react-aria-components/Button";
import { useViewer } from "../live/hooks.ts";
import { fetchActions, postAction, wordsOf } from "../live/requests.ts";

interface RowActionsProps {
  readonly collection: Collection;
  /** Id of the row. */
  readonly row: string;
  /** Actions are asked for again whenever it changes. */
  readonly version: unknown;
}

export function RowActions(props: RowActionsProps): ReactElement | undefined {
  const viewer = useViewer();
  // A console that only reads is not asked.
  return viewer?.actions?.includes(props.collection) === true ? <Offered {...props} /> : undefined;
}

function Offered({ collection, row, version }: RowActionsProps): ReactElement | undefined {
  const [offers, setOffers] = useState<readonly OfferedAction[]>([]);
  const [chosen, setChosen] = useState<OfferedAction>();
  const [isBusy, setBusy] = useState(false);
  const [done, setDone] = useState("");
  const [problem, setProblem] = useState<ConsoleError>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    fetchActions(collection, row, controller.signal).then(setOffers, (error: unknown) => {
      if (!controller.signal.aborted) setProblem(wordsOf(error));
    });
    return () => controller.abort();
  }, [collection, row, version, round]);
  const confirm = (action: OfferedAction): void => {
    setBusy(true);
    setProblem(undefined);
    postAction(action, row)
      .then(
        ({ message }) => setDone(message),
        (error: unknown) => setProblem(wordsOf(error)),
      )
      .finally(() => {
        setBusy(false);
        setChosen(undefined);
        setOffers([]);
        // The object is another one now, or was before.
        setRound((last) => last + 1);
      });
  };
  if (offers.length === 0 && done === "" && problem === undefined && chosen === undefined) return undefined;
  return (
    <section>
      <p role="status">{done}</p>
      {problem !== undefined && (
        <p className="cause" role="alert">
          {problem.error} {problem.advice}
        </p>
      )}
      {chosen === undefined ? (
        <div className="choice">
          {offers.map((offer) => (
            <Button
              key={offer.name}
              onPress={() => {
                setProblem(undefined);
                setChosen(offer);
              }}
            >
              {offer.label} …
            </Button>
          ))}
        </div>
      ) : (
        <Confirmation
          offer={chosen}
          isBusy={isBusy}
          onConfirm={() => confirm(chosen)}
          onCancel={() => setChosen(undefined)}
        />
      )}
    </section>
  );
}

interface ConfirmationProps {
  readonly offer: OfferedAction;
  readonly isBusy: boolean;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** Has the focus on its heading, so that no key pressed twice confirms. Escape cancels, and leaves the panel open. */
function Confirmation({ offer, isBusy, onConfirm, onCancel }: ConfirmationProps): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  useEffect(() => heading.current?.focus(), []);
  return (
    <div
      className="confirm"
      role="alertdialog"
      aria-labelledby={id}
      aria-describedby={`${id}-list`}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        if (!isBusy) onCancel();
      }}
    >
      <h3 id={id} ref={heading} tabIndex={-1}>
        {offer.title}?
      </h3>
      <ul id={`${id}-list`}>
        {offer.consequences.map((consequence) => (
          <li key={consequence}>{consequence}</li>
        ))}
      </ul>
      <div className="choice">
        <Button isDisabled={isBusy} onPress={onCancel}>
          Cancel
        </Button>
        <Button className="grave" isDisabled={isBusy} onPress={onConfirm}>
          {isBusy ? "At work …" : offer.label}
        </Button>
      </div>
    </div>
  );
}
