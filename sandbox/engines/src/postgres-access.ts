/** Decides which logins may connect to a PostgreSQL server from which machines. Every login needs a password. Pure. */

/** A way in from other machines. */
export interface OutsideDoor {
  /** Address of this machine; 0.0.0.0 or :: mean all of them. */
  readonly address: string;
  /** Logins that get in by loopback only. The superuser is always one of them. */
  readonly insiders?: readonly string[] | undefined;
}

/** The server's own account, with which it is made and looked after. */
export const superuser = "postgres";
const loopback = "127.0.0.1";

/** Returns the addresses for `listen_addresses`: always loopback, by which the server is administered, and those of the door. */
export function listenAddresses(door: OutsideDoor | undefined): string {
  const { address = loopback } = door ?? {};
  if (address === "::") return "*";
  return address === loopback || address === "0.0.0.0" ? address : `${loopback},${address}`;
}

/** Lines of `pg_hba.conf`; the first one that fits counts. `all` leaves out replication, which therefore is for loopback only. */
export function accessRules({ insiders = [] }: OutsideDoor): string {
  const byPassword = "scram-sha-256";
  const own = [`${loopback}/32`, "::1/128"].flatMap((address) => [
    `host all all ${address} ${byPassword}`,
    `host replication all ${address} ${byPassword}`,
  ]);
  const refused = [superuser, ...insiders].map((login) => `host all "${login}" all reject`);
  return [...own, ...refused, `host all all all ${byPassword}`, ""].join("\n");
}
