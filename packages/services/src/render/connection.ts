/** Reads a service's address from the credentials of a binding, as its table describes. */
import type { ConnectionDetail } from "@klutch/api";
import type { ConnectionSource } from "../table/service-table.ts";

/** Maximum number of addresses to show for each source. */
const mostPlaces = 20;

/** Returns addresses without secrets: of a URL only scheme, host and port. Missing or unreadable ones are left out. */
export function connectionDetails(
  sources: readonly ConnectionSource[],
  credentials: Readonly<Record<string, string>>,
): readonly ConnectionDetail[] {
  return sources.flatMap(({ label, from, form, port }) => {
    const values = listOf(valueOf(credentials, from)).slice(0, mostPlaces);
    const ownPort = port === undefined ? undefined : valueOf(credentials, port);
    return values.flatMap((value) => {
      const place = placeOf(form, value, ownPort);
      return place === undefined ? [] : [{ ...place, label }];
    });
  });
}

function valueOf(credentials: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(credentials, key) ? credentials[key] : undefined;
}

type Place = Pick<ConnectionDetail, "hostURL" | "port">;

function placeOf(form: ConnectionSource["form"], value: string, port: string | undefined): Place | undefined {
  if (form === "host") {
    const isPlace = /^[^\s@/?#\\]{1,253}$/.test(value) && /^\d{1,5}$/.test(port ?? "");
    return isPlace ? { hostURL: value, port } : undefined;
  }
  return form === "url" ? placeOfUrl(value) : placeOfAddress(value);
}

/** `[a b]`, as lists in Secrets are written, or one value. */
function listOf(value: string | undefined): readonly string[] {
  if (value === undefined) return [];
  if (!value.startsWith("[") || !value.endsWith("]")) return [value];
  return value
    .slice(1, -1)
    .split(/[\s,]+/)
    .filter((item) => item !== "");
}

const knownPorts: Readonly<Record<string, string>> = {
  "http:": "80",
  "https:": "443",
  "amqp:": "5672",
  "amqps:": "5671",
};

function placeOfUrl(value: string): Place | undefined {
  const url = URL.parse(value);
  if (url === null || url.hostname === "") return undefined;
  const port = url.port === "" ? knownPorts[url.protocol] : url.port;
  return port === undefined ? undefined : { hostURL: `${url.protocol}//${url.hostname}`, port };
}

/** `https://h:9200` or `h:27017`: what stands before and behind the last colon. */
function placeOfAddress(value: string): Place | undefined {
  if (value.includes("://")) return placeOfUrl(value);
  const [, hostURL, port] = /^([^\s@/?#\\]{1,253}):(\d{1,5})$/.exec(value) ?? [];
  return hostURL === undefined || port === undefined ? undefined : { hostURL, port };
}
