/** Claims of app clusters: databases, their bindings and backups. */
import type { InstanceRow } from "@klutch/overview/console-wire";
import type { ClaimKey } from "../live/requests.ts";
import type { Page } from "../view/page.ts";
import { Age, HealthMark, Moment, Price, Text } from "../view/words.tsx";
import { ClaimWay } from "./way.tsx";

/** Names the claim to the server. */
export function claimOf({ api, tenant, namespace, name }: InstanceRow): ClaimKey {
  return { api, tenant, namespace, name };
}

export const instances: Page<InstanceRow> = {
  title: "Instances",
  noun: ["instance", "instances"],
  empty: {
    sign: "○",
    title: "No instances yet.",
    text: "An instance appears here as soon as somebody creates a claim in a bound app cluster.",
  },
  columns: [
    {
      id: "name",
      title: "Name",
      phone: true,
      share: 1.6,
      value: ({ namespace, name }) => `${namespace}/${name}`,
    },
    { id: "kind", title: "Kind", share: 1.3, value: ({ kind }) => kind },
    { id: "plan", wide: true, title: "Plan", value: ({ plan }) => plan },
    { id: "cluster", title: "App cluster", share: 1.2, value: ({ cluster }) => cluster },
    {
      id: "health",
      title: "State",
      phone: true,
      share: 1.3,
      value: ({ health, reason }) => `${rank(health)} ${reason}`,
      show: ({ health, reason }) => (
        <>
          <HealthMark health={health} />{" "}
          {health !== "well" && (
            <span className="soft" title={reason}>
              {reason}
            </span>
          )}
        </>
      ),
    },
    {
      id: "created",
      title: "Age",
      share: 0.8,
      value: ({ created }) => created,
      show: ({ created }) => <Age at={created} />,
    },
    {
      id: "backup",
      wide: true,
      title: "Last backup",
      share: 0.9,
      value: ({ lastBackup }) => lastBackup,
      show: ({ lastBackup }) => <Age at={lastBackup} />,
    },
    {
      id: "cost",
      title: "Per month",
      numeric: true,
      share: 0.8,
      value: ({ perMonth }) => (perMonth === undefined ? undefined : Number(perMonth.amount)),
      show: ({ perMonth }) => <Price money={perMonth} />,
    },
  ],
  heading: ({ namespace, name }) => `${namespace}/${name}`,
  more: (row) => <ClaimWay claim={claimOf(row)} version={row} />,
  details: (row) => [
    ["State", <HealthMark key="" health={row.health} />],
    ["Reason", <Text key="" of={row.reason} />],
    ["Problem", <Text key="" of={row.problem} />],
    ["API", <Text key="" of={row.api} />],
    ["Plan", <Text key="" of={row.plan} />],
    ["App cluster", <Text key="" of={row.cluster} />],
    ["Tenant", <Text key="" of={row.tenant} />],
    ["Created", <Moment key="" at={row.created} />],
    ["Last backup", <Moment key="" at={row.lastBackup} />],
    ["Per month", <Price key="" money={row.perMonth} />],
  ],
};

/** Puts the worst first when sorted upwards. */
function rank(health: InstanceRow["health"]): number {
  return { problem: 0, deleting: 1, pending: 2, well: 3 }[health] ?? 2;
}
