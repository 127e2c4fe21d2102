/** Frame of all pages: navigation, viewer, the state of the connection. */
import type { Collection, Viewer } from "@klutch/overview/console-wire";
import { type MouseEvent, type ReactElement, useEffect, useRef, useState } from "react";
import { Button } from "react-aria-components/Button";
import { useConnection, useRows, useStore, useViewer } from "../live/hooks.ts";
import { wordsOf } from "../live/requests.ts";
import { addressOf, go, useRoute } from "../live/route.ts";
import { pages } from "../pages/pages.ts";
import { Failed, Loading, LoggedOut, Note } from "../view/states.tsx";
import { formatNumber, formatTime } from "../view/words.tsx";
import { CollectionPage } from "./collection-page.tsx";

export function Shell(): ReactElement {
  const viewer = useViewer();
  const { state, words } = useConnection();
  const store = useStore();
  if (state === "over") return <LoggedOut words={words ?? { error: "Your session is over.", advice: "" }} />;
  if (viewer !== undefined) return <Frame viewer={viewer} />;
  return (
    <main className="alone">
      <h1 className="hidden">Klutch console</h1>
      {state === "lost" && words !== undefined ? (
        <Failed words={words} onRetry={() => store.start()} />
      ) : (
        <Loading what="the console" />
      )}
    </main>
  );
}

function Frame({ viewer }: { readonly viewer: Viewer }): ReactElement {
  const route = useRoute();
  const { collection } = route;
  const isKnown = collection !== undefined && viewer.collections.includes(collection);
  const title = isKnown ? pages[collection].title : "Not found";
  useEffect(() => {
    document.title = `${title} · Klutch console`;
  }, [title]);
  return (
    <div className="frame">
      <header>
        <span className="brand">
          <span className="logo" aria-hidden="true">
            K
          </span>
          <span className="provider" title={viewer.provider}>
            {viewer.provider}
          </span>
        </span>
        <nav aria-label="Pages">
          <ul>
            {viewer.collections.map((each) => (
              <li key={each}>
                <PageLink collection={each} isCurrent={each === collection} />
              </li>
            ))}
          </ul>
        </nav>
        <LogOut name={viewer.name} />
      </header>
      <Lost />
      <div className="body">
        {isKnown ? (
          <CollectionPage key={collection} collection={collection} route={route} />
        ) : (
          <main>
            <h1>{title}</h1>
            <Note title="There is no such page, or you may not see it." sign="○">
              <p>The pages that you may see stand in the navigation.</p>
            </Note>
          </main>
        )}
      </div>
    </div>
  );
}

function LogOut({ name }: { readonly name: string }): ReactElement {
  const store = useStore();
  const [problem, setProblem] = useState("");
  const logOut = (): void => {
    store.logOut().catch((error: unknown) => setProblem(wordsOf(error).error));
  };
  return (
    <div className="viewer">
      <span title={name}>{problem === "" ? name : problem}</span>
      <Button onPress={logOut}>Log out</Button>
    </div>
  );
}

function PageLink(props: { readonly collection: Collection; readonly isCurrent: boolean }): ReactElement {
  const { collection, isCurrent } = props;
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    // On a phone the navigation is wider than the screen.
    if (isCurrent) link.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [isCurrent]);
  const follow = (event: MouseEvent): void => {
    // A new tab or window is the browser's business.
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go({ collection });
  };
  return (
    <a
      ref={link}
      href={addressOf({ collection })}
      onClick={follow}
      {...(isCurrent && { "aria-current": "page" })}
    >
      {pages[collection].title}
      {collection === "problems" && <ProblemCount />}
    </a>
  );
}

/** Tells of problems on every page. */
function ProblemCount(): ReactElement | undefined {
  const { rows } = useRows("problems");
  return rows.length === 0 ? undefined : <span className="badge">{formatNumber(rows.length)}</span>;
}

function Lost(): ReactElement {
  const { state, asOf } = useConnection();
  return (
    <div className="lost" role="status">
      {state === "lost" && <p>Connection lost, shown as of {formatTime(asOf)}. Trying again …</p>}
    </div>
  );
}
