/** Versions of konnectors, and the roll-outs that change them. */
import type { KonnectorRow } from "@klutch/overview/console-wire";
import type { ReactElement } from "react";
import type { Page } from "../view/page.ts";
import { formatNumber, HealthMark, Text } from "../view/words.tsx";
import { NextStep } from "./way.tsx";

export const konnectors: Page<KonnectorRow> = {
  title: "Konnectors",
  noun: ["konnector", "konnectors"],
  empty: {
    sign: "○",
    title: "No app clusters yet.",
    text: "Each bound app cluster is listed here with the version of its konnector.",
  },
  sort: "name",
  columns: [
    {
      id: "name",
      title: "App cluster",
      phone: true,
      share: 1.4,
      value: nameOf,
    },
    {
      id: "health",
      title: "State",
      value: ({ health }) => health,
      show: ({ health }) => <HealthMark health={health} />,
    },
    { id: "version", title: "Version", phone: true, value: ({ version }) => version },
    { id: "wanted", title: "Wanted", phone: true, value: ({ wanted }) => wanted },
    { id: "rollout", title: "Roll-out", share: 1.1, value: ({ rollout }) => rollout },
    {
      id: "wave",
      title: "Wave",
      numeric: true,
      share: 0.7,
      value: ({ wave }) => wave,
      show: ({ wave }) => <Text of={wave === undefined ? "" : formatNumber(wave)} />,
    },
    { id: "phase", title: "Phase", value: ({ phase }) => phase },
    { id: "says", wide: true, title: "Says", share: 3.2, value: ({ says }) => says },
  ],
  heading: nameOf,
  more: (row) => <Stopped row={row} />,
  details: (row) => [
    ["State", <HealthMark key="" health={row.health} />],
    ["Says", <Text key="" of={row.says} />],
    ["Tenant", <Text key="" of={row.tenant} />],
    ["Version", <Text key="" of={row.version} />],
    ["Wanted version", <Text key="" of={row.wanted} />],
    ["Follows", <Text key="" of={row.follows} />],
    ["Roll-out", <Text key="" of={row.rollout} />],
    ["Channel", <Text key="" of={row.channel || (row.rollout && "all app clusters")} />],
    ["Phase", <Text key="" of={row.phase} />],
    ["Wave", <Text key="" of={row.wave === undefined ? "" : formatNumber(row.wave)} />],
  ],
};

/** A roll-out that selects no app cluster has a row without one. */
function nameOf({ name, tenant, rollout }: KonnectorRow): string {
  return name || tenant || `none (roll-out ${rollout})`;
}

function Stopped({ row }: { readonly row: KonnectorRow }): ReactElement | undefined {
  const { stopped, next } = row;
  if (stopped === "" && next === "") return undefined;
  return (
    <section aria-label="Next step">
      {stopped !== "" && (
        <>
          <h3>The roll-out has stopped</h3>
          <p className="cause">{stopped}</p>
          <p className="soft">It goes on with another version.</p>
        </>
      )}
      {next !== "" && <NextStep next={next} />}
    </section>
  );
}
