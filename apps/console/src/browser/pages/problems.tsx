/** Everything that is not well, worst first as the server sends it, with the next step. */
import type { InstanceRow, ProblemRow } from "@klutch/overview/console-wire";
import type { ReactElement } from "react";
import { useRows } from "../live/hooks.ts";
import { addressOf, go } from "../live/route.ts";
import type { Page } from "../view/page.ts";
import { Age, Text } from "../view/words.tsx";
import { claimOf } from "./instances.tsx";
import { ClaimWay, NextStep, people } from "./way.tsx";

export const problems: Page<ProblemRow> = {
  title: "Problems",
  noun: ["problem", "problems"],
  rowHeight: 64,
  empty: {
    sign: "✓",
    title: "All is well.",
    text: "No offer, app cluster or instance that you may see has a problem.",
  },
  columns: [
    {
      id: "title",
      title: "Where",
      phone: true,
      share: 1.6,
      value: ({ title }) => title,
      show: ({ title, tenant, severity }) => (
        <span className="two">
          <span className={`severity ${severity}`} title={title}>
            <span className="hidden">{severity}: </span>
            {title}
          </span>
          <span className="soft" title={tenant}>
            {tenant}
          </span>
        </span>
      ),
    },
    {
      id: "says",
      title: "Problem",
      phone: true,
      share: 2.3,
      value: ({ reason, says }) => `${reason} ${says}`,
      show: ({ reason, says }) => (
        <span className="two">
          <strong title={reason}>{reason}</strong>
          <span title={says}>{says}</span>
        </span>
      ),
    },
    {
      id: "next",
      title: "Next step",
      share: 2,
      value: ({ next, who }) => `${next} ${who}`,
      show: ({ next, who }) => (
        <span className="two">
          <span title={next}>{next}</span>
          <span className="soft">{people[who] ?? who}</span>
        </span>
      ),
    },
    {
      id: "since",
      title: "Since",
      share: 0.7,
      value: ({ since }) => since,
      show: ({ since }) => <Age at={since} />,
    },
  ],
  heading: ({ title }) => title,
  more: (row) => <ProblemMore row={row} />,
  details: ({ tenant, reason, says, since }) => [
    ["Tenant", <Text key="" of={tenant} />],
    ["Reason", <Text key="" of={reason} />],
    ["Says", <Text key="" of={says} />],
    ["Since", <Age key="" at={since} />],
  ],
};

const places = {
  offers: "the offer",
  clusters: "the app cluster",
  konnectors: "the konnectors of the roll-out",
  instances: "the instance",
  cost: "the bill",
} as const;

/** A roll-out has many rows: its name finds them. */
function placeOf({ collection, id }: ProblemRow["about"]): Parameters<typeof go>[0] {
  if (collection === "konnectors") return { collection, query: id };
  return { collection, row: collection === "cost" ? undefined : id };
}

function ProblemMore({ row }: { readonly row: ProblemRow }): ReactElement {
  const { about, next, who } = row;
  return (
    <>
      <section aria-label="Next step">
        <h3>Next step</h3>
        <p className="soft">{people[who] ?? who}.</p>
        {next !== "" && <NextStep next={next} />}
        <a
          href={addressOf(placeOf(about))}
          onClick={(event) => {
            event.preventDefault();
            go(placeOf(about));
          }}
        >
          Show {places[about.collection]}
        </a>
      </section>
      {about.collection === "instances" && <WayOfInstance id={about.id} />}
    </>
  );
}

function WayOfInstance({ id }: { readonly id: string }): ReactElement | undefined {
  const { rows } = useRows("instances");
  const row: InstanceRow | undefined = rows.find((each) => each.id === id);
  return row === undefined ? undefined : <ClaimWay claim={claimOf(row)} version={row} />;
}
