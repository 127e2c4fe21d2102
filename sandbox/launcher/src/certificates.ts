/** Certificates of the composition function and its client, Crossplane, for mutual TLS. */
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Authority, createAuthority, type Subject } from "@klutch/certificates";

/** Folders with `tls.crt`, `tls.key` and `ca.crt`. */
export interface CertificateFolders {
  readonly functionServer: string;
  readonly crossplaneClient: string;
}

const days = 5 * 365;
const hosts = ["localhost", "127.0.0.1"];

/** Makes both certificates once; later starts take them as they are. */
export async function ensureCertificates(folder: string, now: Date): Promise<CertificateFolders> {
  const folders = {
    functionServer: join(folder, "function"),
    crossplaneClient: join(folder, "crossplane-client"),
  };
  if (await exists(join(folders.crossplaneClient, "tls.crt"))) return folders;
  const authority = await createAuthority("klutch-sandbox", { now, days });
  const write = (target: string, subject: Subject): Promise<void> =>
    writePair(target, authority, subject, now);
  await write(folders.functionServer, { use: "server", name: "function-klutch", hosts });
  await write(folders.crossplaneClient, { use: "client", name: "crossplane-core", hosts });
  return folders;
}

async function writePair(folder: string, authority: Authority, subject: Subject, now: Date): Promise<void> {
  const { certificate, key } = await authority.issue(subject, { now, days });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "ca.crt"), authority.certificate);
  await writeFile(join(folder, "tls.key"), key.reveal(), { mode: 0o600 });
  await writeFile(join(folder, "tls.crt"), certificate);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
