/** Members, grants, audit and cost. */
import type {
  AuditRow,
  CostBackups,
  CostData,
  CostIdle,
  CostRow,
  GrantRow,
  MemberRow,
} from "@klutch/overview/console-wire";
import type { ReactElement } from "react";
import type { Page } from "../view/page.ts";
import { Age, formatBytes, formatMoney, formatNumber, Moment, Nothing, Price, Text } from "../view/words.tsx";
import { RowActions } from "./actions.tsx";
import { NameList } from "./clusters.tsx";

export const members: Page<MemberRow> = {
  title: "Members",
  noun: ["member", "members"],
  empty: {
    sign: "○",
    title: "No members yet.",
    text: "People become members when they bind an app cluster.",
  },
  sort: "name",
  columns: [
    { id: "name", title: "Name", phone: true, share: 1.5, value: ({ name }) => name },
    { id: "tenant", title: "Tenant", phone: true, share: 1.3, value: ({ tenant }) => tenant },
    { id: "issuer", wide: true, title: "Identity provider", share: 2, value: ({ issuer }) => issuer },
    {
      id: "bound",
      title: "Last bound",
      value: ({ lastBound }) => lastBound,
      show: ({ lastBound }) => <Age at={lastBound} />,
    },
  ],
  heading: ({ name }) => name,
  more: (row) => <RowActions collection="members" row={row.id} version={row} />,
  details: (row) => [
    ["Tenant", <Text key="" of={row.tenant} />],
    ["Identity provider", <Text key="" of={row.issuer} />],
    ["Last bound", <Moment key="" at={row.lastBound} />],
  ],
};

export const grants: Page<GrantRow> = {
  title: "Grants",
  noun: ["grant", "grants"],
  empty: {
    sign: "○",
    title: "No grants yet.",
    text: "Each set of credentials that somebody gets is listed here.",
  },
  sort: "-at",
  columns: [
    { id: "who", title: "Who", phone: true, share: 1.4, value: ({ who }) => who },
    { id: "tenant", title: "Tenant", share: 1.3, value: ({ tenant }) => tenant },
    { id: "way", title: "Way", value: ({ way }) => way },
    { id: "templates", title: "APIs", share: 2, value: ({ templates }) => templates.join(", ") },
    { id: "at", title: "When", phone: true, value: ({ at }) => at, show: ({ at }) => <Age at={at} /> },
  ],
  heading: ({ who }) => who,
  more: (row) => <RowActions collection="grants" row={row.id} version={row} />,
  details: (row) => [
    ["Tenant", <Text key="" of={row.tenant} />],
    ["Way", <Text key="" of={row.way} />],
    ["When", <Moment key="" at={row.at} />],
    ["APIs", <NameList key="" names={row.templates} />],
  ],
};

export const audit: Page<AuditRow> = {
  title: "Audit",
  noun: ["event", "events"],
  empty: {
    sign: "○",
    title: "No events.",
    text: "The control plane keeps events of a tenant for a limited time.",
  },
  sort: "-at",
  columns: [
    {
      id: "at",
      title: "When",
      phone: true,
      share: 0.8,
      value: ({ at }) => at,
      show: ({ at }) => <Age at={at} />,
    },
    { id: "reason", title: "Event", share: 1.2, value: ({ reason }) => reason },
    { id: "says", title: "Says", phone: true, share: 3, value: ({ says }) => says },
    { id: "tenant", title: "Tenant", share: 1.2, value: ({ tenant }) => tenant },
  ],
  heading: ({ reason }) => reason,
  details: (row) => [
    ["Tenant", <Text key="" of={row.tenant} />],
    ["When", <Moment key="" at={row.at} />],
    ["Says", <Text key="" of={row.says} />],
  ],
};

export const cost: Page<CostRow> = {
  title: "Cost",
  noun: ["line", "lines"],
  empty: {
    sign: "○",
    title: "No cost this month.",
    text: "No database existed, or the bill cannot be calculated: then the backend's log says why.",
  },
  sort: "-cost",
  columns: [
    { id: "tenant", title: "Tenant", phone: true, share: 1.3, value: ({ tenant }) => tenant },
    { id: "service", title: "Service", share: 1.2, value: ({ service }) => service },
    { id: "plan", title: "Plan", value: ({ plan }) => plan },
    { id: "month", title: "Month", wide: true, share: 0.7, value: ({ month }) => month },
    {
      id: "hours",
      title: "Hours",
      numeric: true,
      share: 0.6,
      value: ({ hours }) => hours,
      show: ({ hours }) => formatNumber(hours),
    },
    {
      id: "size",
      title: "Size",
      numeric: true,
      share: 1.5,
      value: ({ data }) => data?.bytes,
      show: ({ data }) => <Size of={data} />,
    },
    {
      id: "idle",
      title: "Idle",
      wide: true,
      numeric: true,
      share: 0.6,
      value: ({ idle }) => idle?.count,
      show: ({ idle }) => (idle === undefined ? <Nothing /> : formatNumber(idle.count)),
    },
    {
      id: "backups",
      title: "Backups",
      wide: true,
      numeric: true,
      share: 0.8,
      value: ({ backups }) => backups?.made,
      show: ({ backups }) => (backups === undefined ? <Nothing /> : formatNumber(backups.made)),
    },
    {
      id: "backupGibMonths",
      title: "Backup GiB-months",
      numeric: true,
      share: 1.4,
      value: ({ backups }) =>
        backups?.gibMonths === undefined ? undefined : Number(backups.gibMonths.replace("<", "")),
      show: ({ backups }) => <KeptSize of={backups} />,
    },
    {
      id: "cost",
      title: "Cost",
      phone: true,
      numeric: true,
      value: ({ cost: money }) => (money === undefined ? undefined : Number(money.amount)),
      show: ({ cost: money }) => <Price money={money} />,
    },
  ],
  heading: ({ tenant, service }) => `${tenant}: ${service}`,
  details: (row) => [
    ["Tenant", <Text key="" of={row.tenant} />],
    ["Service", <Text key="" of={row.service} />],
    ["Plan", <Text key="" of={row.plan} />],
    ["Month", <Text key="" of={row.month} />],
    ["Hours", formatNumber(row.hours)],
    ["Size of databases", <Size key="" of={row.data} />],
    ["Without a session for 30 days", <Idle key="" of={row.idle} />],
    [
      "Backups that were made",
      row.backups === undefined ? <Nothing key="" /> : formatNumber(row.backups.made),
    ],
    ["GiB-months of backups", <KeptSize key="" of={row.backups} />],
    ["Cost", <Price key="" money={row.cost} />],
  ],
};

/** Never shows 0 of databases whose size is unknown. */
function Size({ of }: { readonly of: CostData | undefined }): ReactElement {
  if (of === undefined) return <Nothing />;
  return (
    <span className="number">
      {formatBytes(of.bytes)}
      {of.lacksSizes && ", some unknown"}
    </span>
  );
}

/** Names the databases that no one uses. */
function Idle({ of }: { readonly of: CostIdle | undefined }): ReactElement {
  if (of === undefined) return <Nothing />;
  const more = of.count - of.databases.length;
  return (
    <ul className="plain">
      {of.databases.map(({ namespace, name, lastSession, bytes, perMonth }) => (
        <li key={`${namespace}/${name}`}>
          {`${namespace}/${name}, last session `}
          <Age at={lastSession} />
          {bytes === undefined ? "" : `, ${formatBytes(bytes)}`}
          {perMonth === undefined ? "" : `, ${formatMoney(perMonth)} per month`}
        </li>
      ))}
      {more > 0 && <li>{`and ${formatNumber(more)} more`}</li>}
    </ul>
  );
}

/** Never shows 0 of backups whose size is unknown. */
function KeptSize({ of }: { readonly of: CostBackups | undefined }): ReactElement {
  if (of === undefined) return <Nothing />;
  if (of.gibMonths === undefined) return <span className="soft">size unknown</span>;
  return (
    <span className="number">
      {of.gibMonths}
      {of.lacksSizes && ", some unknown"}
    </span>
  );
}
