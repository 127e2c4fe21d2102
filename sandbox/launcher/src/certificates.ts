/** Certificates of the composition function and its client, Crossplane, for mutual TLS. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAuthority, type Subject } from "@klutch/certificates";

/** Folders with `tls.crt`, `tls.key` and `ca.crt`. */
export interface CertificateFolders {
  readonly functionServer: string;
  readonly crossplaneClient: string;
}

const days = 5 * 365;
const hosts = ["localhost", "127.0.0.1"];

/** Makes both certificates once; later starts take them as they are. */
export async function ensureCertificates(folder: string, now: Date): Promise<CertificateFolders> {
  const functionServer = join(folder, "function");
  const crossplaneClient = join(folder, "crossplane-client");
  const folders = { functionServer, crossplaneClient };
  if (existsSync(join(crossplaneClient, "tls.crt"))) return folders;
  const authority = await createAuthority("klutch-sandbox", { now, days });
  const write = async (target: string, subject: Subject): Promise<void> => {
    const { certificate, key } = await authority.issue(subject, { now, days });
    await mkdir(target, { recursive: true });
    await writeFile(join(target, "ca.crt"), authority.certificate);
    await writeFile(join(target, "tls.key"), key.reveal(), { mode: 0o600 });
    await writeFile(join(target, "tls.crt"), certificate);
  };
  await write(functionServer, { use: "server", name: "function-klutch", hosts });
  await write(crossplaneClient, { use: "client", name: "crossplane-core", hosts });
  return folders;
}
