import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
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

test("an authority is made once; a server's certificate is for loopback, is kept, and is made anew before it ends", async () => {
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
  assert.equal((await certificateIn(home)).serialNumber, first.serialNumber);
  now = years(4.5);
  await again.issue(home);
  assert.notEqual((await certificateIn(home)).serialNumber, first.serialNumber);
});

test("a certificate of another authority is not kept", async () => {
  const home = join(folder, "moved");
  await mkdir(home);
  for (const name of ["one", "two"]) {
    const authority = await openAuthority(join(folder, name), { name, now: () => start });
    await authority.issue(home);
    const { publicKey } = new X509Certificate(authority.certificate);
    assert.ok((await certificateIn(home)).verify(publicKey));
  }
});
