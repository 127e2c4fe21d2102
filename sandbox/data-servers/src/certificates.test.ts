import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openAuthority, tlsFilesIn } from "./certificates.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-authority-"));
after(() => rm(folder, { recursive: true, force: true }));
const start = new Date("2026-01-01T00:00:00Z");
const years = (count: number): Date => new Date(start.getTime() + count * 365 * 24 * 3600 * 1000);

async function certificateIn(home: string): Promise<X509Certificate> {
  return new X509Certificate(await readFile(tlsFilesIn(home).certificate));
}

test("an authority is made once; a server's certificate is for loopback, and another one at each start", async () => {
  const home = join(folder, "home");
  await mkdir(home);
  let now = start;
  const authority = await openAuthority(join(folder, "authority"), { name: "test", now: () => now });
  await authority.issue(home);
  const first = await certificateIn(home);
  assert.equal(first.checkIP("127.0.0.1"), "127.0.0.1");
  assert.ok(first.verify(new X509Certificate(authority.certificate).publicKey) && !first.ca);
  assert.equal((await stat(tlsFilesIn(home).key)).mode & 0o777, 0o600);
  now = years(3);
  const again = await openAuthority(join(folder, "authority"), { name: "test", now: () => now });
  assert.equal(again.certificate, authority.certificate);
  await again.issue(home);
  const second = await certificateIn(home);
  assert.notEqual(second.serialNumber, first.serialNumber);
  assert.ok(second.validToDate.getTime() > years(7).getTime());
});

test("a certificate is for the host by which its server is reached", async () => {
  const home = join(folder, "reached");
  await mkdir(home);
  for (const host of ["db.example.org", "192.0.2.7", "2001:db8::7", "localhost"]) {
    const authority = await openAuthority(join(folder, "hosts"), { name: "test", now: () => start, host });
    await authority.issue(home);
    const certificate = await certificateIn(home);
    assert.equal(isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host), host);
    assert.equal(certificate.checkIP("127.0.0.1"), "127.0.0.1");
  }
});
