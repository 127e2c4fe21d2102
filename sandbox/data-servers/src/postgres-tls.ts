/** A PostgreSQL server speaks TLS to those who ask for it. */
import { dataHome } from "@klutch/engines";
import { type Authority, tlsFilesIn } from "./certificates.ts";

/** Writes the server's certificate and key beside its data, and gives back the settings that name them. */
export async function postgresTls(
  authority: Authority,
  home: string,
): Promise<Readonly<Record<string, string>>> {
  const root = await dataHome(home);
  await authority.issue(root);
  const { certificate, key } = tlsFilesIn(root);
  return { ssl: "on", ssl_cert_file: certificate, ssl_key_file: key };
}
