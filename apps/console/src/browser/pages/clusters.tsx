/** App clusters and their offers. */
import type { ClusterRow, Money, OfferRow } from "@klutch/overview/console-wire";
import type { ReactElement } from "react";
import type { Page } from "../view/page.ts";
import { Age, formatMoney, formatNumber, HealthMark, Moment, Price, Text } from "../view/words.tsx";

export const clusters: Page<ClusterRow> = {
  title: "App clusters",
  noun: ["app cluster", "app clusters"],
  empty: {
    sign: "○",
    title: "No app clusters yet.",
    text: "Bind one: run kubectl bind with this backend's address in the app cluster.",
  },
  sort: "name",
  columns: [
    { id: "name", title: "Name", phone: true, share: 1.5, value: ({ name }) => name },
    { id: "owner", title: "Owner", share: 1.4, value: ({ owner }) => owner },
    {
      id: "health",
      title: "State",
      phone: true,
      value: ({ health }) => health,
      show: ({ health }) => <HealthMark health={health} />,
    },
    { id: "version", wide: true, title: "Version", share: 0.8, value: ({ version }) => version },
    {
      id: "heartbeat",
      title: "Heartbeat",
      share: 0.9,
      value: ({ lastHeartbeat }) => lastHeartbeat,
      show: ({ lastHeartbeat }) => <Age at={lastHeartbeat} />,
    },
    {
      id: "credential",
      wide: true,
      title: "Credential ends",
      value: ({ credentialEnds }) => credentialEnds,
      show: ({ credentialEnds }) => <Age at={credentialEnds} />,
    },
    { id: "apis", title: "APIs", numeric: true, share: 0.5, value: ({ apis }) => apis.length },
    {
      id: "claims",
      title: "Instances",
      numeric: true,
      share: 0.8,
      value: ({ claims }) => claims,
      show: ({ claims, notReady }) => (
        <>
          {formatNumber(claims)}
          {notReady > 0 && <span className="soft"> ({formatNumber(notReady)} not ready)</span>}
        </>
      ),
    },
  ],
  heading: ({ name }) => name,
  details: (row) => [
    ["State", <HealthMark key="" health={row.health} />],
    ["Problem", <Text key="" of={row.problem} />],
    ["Tenant", <Text key="" of={row.tenant} />],
    ["Owner", <Text key="" of={row.owner} />],
    ["Bound by", <Text key="" of={row.boundBy} />],
    ["Members", formatNumber(row.members)],
    ["Version", <Text key="" of={row.version} />],
    ["Last heartbeat", <Moment key="" at={row.lastHeartbeat} />],
    ["Credential ends", <Moment key="" at={row.credentialEnds} />],
    ["Held deletions", formatNumber(row.heldDeletions)],
    ["Instances", `${formatNumber(row.claims)}, ${formatNumber(row.notReady)} not ready`],
    ["APIs", <NameList key="" names={row.apis} />],
  ],
};

export const offers: Page<OfferRow> = {
  title: "Offers",
  noun: ["offer", "offers"],
  empty: {
    sign: "○",
    title: "Nothing is offered to you.",
    text: "An operator offers an API with an APIServiceExportTemplate.",
  },
  sort: "service",
  columns: [
    { id: "kind", title: "Kind", phone: true, share: 1.5, value: ({ kind }) => kind },
    { id: "service", title: "Service", share: 1.1, value: ({ service }) => service },
    { id: "api", wide: true, title: "API", share: 2, value: ({ api }) => api },
    {
      id: "plans",
      wide: true,
      title: "Plans",
      share: 1.5,
      value: ({ plans }) => [...new Set(plans.map(({ name }) => name))].join(", "),
    },
    {
      id: "price",
      title: "A month from",
      numeric: true,
      share: 0.9,
      value: (row) => lowestPrice(row)?.value,
      show: (row) => <Price money={lowestPrice(row)?.money} />,
    },
    {
      id: "health",
      title: "State",
      phone: true,
      value: ({ health }) => health,
      show: ({ health }) => <HealthMark health={health} />,
    },
    {
      id: "bound",
      title: "Bound by",
      numeric: true,
      share: 0.8,
      value: ({ boundBy }) => boundBy.length,
      show: ({ boundBy }) => formatNumber(boundBy.length),
    },
  ],
  heading: ({ kind }) => kind,
  details: (row) => [
    ["State", <HealthMark key="" health={row.health} />],
    ["Problem", <Text key="" of={row.problem} />],
    ["API", <Text key="" of={row.api} />],
    ["Service", <Text key="" of={row.service} />],
    [
      "Plans",
      <ul key="" className="plain">
        {row.plans.map(({ name, words, perMonth }) => (
          <li key={`${name} ${words}`}>
            <strong>{name}</strong>
            {perMonth !== undefined && `, ${formatMoney(perMonth)} a month`}
            {perMonth?.backupGiB !== undefined &&
              `, backups ${perMonth.backupGiB} ${perMonth.currency} per GiB and month`}
            {words !== "" && <span className="soft">: {words}</span>}
          </li>
        ))}
      </ul>,
    ],
    ["Bound by", <NameList key="" names={row.boundBy} />],
  ],
};

/** The lowest price of its plans. Two currencies cannot be compared: that of the first plan counts. */
function lowestPrice({ plans }: OfferRow): { readonly money: Money; readonly value: number } | undefined {
  const priced = plans.flatMap(({ perMonth }) =>
    perMonth === undefined ? [] : [{ money: perMonth, value: Number(perMonth.amount) }],
  );
  const currency = priced[0]?.money.currency;
  return priced
    .filter(({ money }) => money.currency === currency)
    .toSorted((one, other) => one.value - other.value)[0];
}

/** Names below each other; a long list is cut, because the panel is no page. */
export function NameList({ names }: { readonly names: readonly string[] }): ReactElement {
  const most = 50;
  if (names.length === 0) return <Text of="" />;
  return (
    <ul className="plain">
      {names.slice(0, most).map((name) => (
        <li key={name}>{name}</li>
      ))}
      {names.length > most && <li className="soft">and {formatNumber(names.length - most)} more</li>}
    </ul>
  );
}
