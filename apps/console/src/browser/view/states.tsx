/** What a page shows in place of rows. */
import type { ConsoleError } from "@klutch/overview/console-wire";
import type { ReactElement, ReactNode } from "react";
import { Button } from "react-aria-components/Button";
import { rememberAddress } from "../live/route.ts";

const skeletonRows = Array.from({ length: 9 }, (_, index) => index);

export function Loading({ what }: { readonly what: string }): ReactElement {
  return (
    <div className="skeleton" role="status">
      <span className="hidden">Loading {what} …</span>
      {skeletonRows.map((index) => (
        <div key={index} className="bone" aria-hidden="true" />
      ))}
    </div>
  );
}

interface NoteProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly sign: string;
  readonly action?: ReactNode;
}

/** A sentence in the middle of the page. */
export function Note({ title, children, sign, action }: NoteProps): ReactElement {
  return (
    <div className="note" role="status">
      <span className="sign" aria-hidden="true">
        {sign}
      </span>
      <h2>{title}</h2>
      {children}
      {action}
    </div>
  );
}

export function Failed(props: { readonly words: ConsoleError; readonly onRetry: () => void }): ReactElement {
  const { words, onRetry } = props;
  return (
    <Note title={words.error} sign="!" action={<Button onPress={onRetry}>Try again</Button>}>
      {words.advice !== "" && <p>{words.advice}</p>}
    </Note>
  );
}

/** The whole screen without a session: before the first login, and after the end of one. */
export function LoggedOut({ words }: { readonly words: ConsoleError }): ReactElement {
  return (
    <main className="alone">
      <h1 className="hidden">Klutch console</h1>
      <Note
        title={words.error}
        sign="K"
        action={
          <a className="button" href="/console/login" onClick={rememberAddress}>
            Log in
          </a>
        }
      >
        {words.advice !== "" && <p>{words.advice}</p>}
      </Note>
    </main>
  );
}
