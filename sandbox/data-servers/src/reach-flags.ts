/** Flags that say where data servers are reached, the same in each program that runs some. */
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { PortRange } from "@klutch/engines";
import { ConfigError, type Flag, FlagFault, optional, optionalText, text } from "@klutch/kube-runtime";
import { isEverywhere, isOfThisMachine, onLoopback, type Reach } from "./reach.ts";

/** The flags' own table. */
export interface ReachFlags {
  readonly "data-listen": Flag<string>;
  readonly "data-host": Flag<string | undefined>;
  readonly "data-ports": Flag<PortRange | undefined>;
}

/** What the flags are read to. */
export type ReachValues = { readonly [K in keyof ReachFlags]: ReturnType<ReachFlags[K]["read"]> };

const leastPort = 1024;
const mostPort = 65_535;

/** The table. With `prefix` they are variables of the environment, such as `BROKER_DATA_LISTEN`, and no flags. */
export function reachFlags({ prefix }: { readonly prefix?: string } = {}): ReachFlags {
  const words = (what: string): { readonly env?: string; readonly envOnly?: boolean } =>
    prefix === undefined ? {} : { env: `${prefix}_DATA_${what}`, envOnly: true };
  return {
    "data-listen": listenAddress(
      text({
        value: "address",
        help: "Address on which data servers listen; 0.0.0.0 or :: for all of this machine",
        default: onLoopback.listen,
        ...words("LISTEN"),
      }),
    ),
    "data-host": hostName(
      optionalText({
        value: "host",
        help: "Name or address of this machine in credentials and certificates. Default: the one on which data servers listen",
        ...words("HOST"),
      }),
    ),
    "data-ports": optional({
      value: "first-last",
      help: "Ports of the data servers, such as 30010-30049. Default: free ones from 20000 to 31999",
      ...words("PORTS"),
      read: ([given = ""]) => portRange(given),
    }),
  };
}

/** The flags together. Throws `ConfigError` when they contradict each other, or this machine. */
export async function reachOf(flags: ReachFlags, values: ReachValues): Promise<Reach> {
  const listen = values["data-listen"];
  const host = values["data-host"] ?? listen;
  const title = (name: keyof ReachFlags): string => flags[name].env ?? `--${name}`;
  if (isEverywhere(host))
    throw new ConfigError([
      `${title("data-host")} is required, because ${title("data-listen")} is ${listen}: credentials need one name or address at which applications reach this machine`,
    ]);
  if (!(await isOfThisMachine(listen)))
    throw new ConfigError([
      `${title("data-listen")}: "${listen}" is no address of this machine, which has ${ownAddresses().join(", ")}`,
    ]);
  return { listen, host, ports: values["data-ports"] };
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
}

function listenAddress(flag: Flag<string>): Flag<string> {
  return {
    ...flag,
    read(texts) {
      const address = canonical(flag.read(texts));
      if (isIP(address) !== 0) return address;
      throw new FlagFault("must be an IP address of this machine, such as 127.0.0.1, or 0.0.0.0 for all");
    },
  };
}

function hostName(flag: Flag<string | undefined>): Flag<string | undefined> {
  return {
    ...flag,
    read(texts) {
      const given = flag.read(texts);
      const host = given === undefined ? undefined : canonical(given);
      if (host === undefined || isHost(host)) return host;
      if (isEverywhere(host)) throw new FlagFault("is every address; one that applications reach is needed");
      throw new FlagFault(
        "must be a name such as db.example.org, or an IP address, without a scheme and a port",
      );
    },
  };
}

/** An IPv6 address can be written in many ways; one with a zone is of one machine's interface only, and so none. */
function canonical(text: string): string {
  if (isIP(text) !== 6) return text;
  return text.includes("%") ? "" : new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** A DNS name (RFC 1123) whose last part is no number, or an address. */
function isHost(host: string): boolean {
  if (isIP(host) !== 0) return !isEverywhere(host);
  const labels = host.split(".");
  return (
    host.length <= 253 &&
    labels.every((label) => /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(label)) &&
    !/^\d+$/.test(labels.at(-1) ?? "")
  );
}

function portRange(given: string): PortRange {
  const [first = Number.NaN, last = Number.NaN] =
    /^(\d{1,5})-(\d{1,5})$/.exec(given)?.slice(1).map(Number) ?? [];
  if (first >= leastPort && last >= first && last <= mostPort) return { first, last };
  throw new FlagFault(`must be first-last within ${leastPort} to ${mostPort}, such as 30010-30049`);
}
