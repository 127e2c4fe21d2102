import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { clientAuth, createAuthority, issue } from "../testing/certificates.ts";
import { readAuthorities, refusalOf } from "./client-certificate.ts";

const authority = await createAuthority();
const other = await createAuthority();
const longest = new X509Certificate((await issue(authority, clientAuth, { until: 5_000 })).cert);
const { validFromDate, validToDate } = new X509Certificate(authority.cert);

test("a certificate that outlives its authority is refused when the authority is over, and not a moment earlier", () => {
  const authorities = readAuthorities(authority.cert);
  assert.ok(longest.validToDate > validToDate);
  assert.equal(refusalOf(longest, authorities, validToDate.getTime()), undefined);
  assert.equal(
    refusalOf(longest, authorities, validToDate.getTime() + 1),
    "the authority that signed its certificate is not valid now",
  );
});

test("the bounds of both certificates are moments at which they are valid", () => {
  const authorities = readAuthorities(authority.cert);
  const from = Math.max(validFromDate.getTime(), longest.validFromDate.getTime());
  assert.equal(refusalOf(longest, authorities, from), undefined);
  assert.notEqual(refusalOf(longest, authorities, from - 1_000), undefined);
});

test("of several authorities any may have signed it, in whatever order they stand", () => {
  const now = validFromDate.getTime() + 1_000_000;
  for (const files of [
    [authority, other],
    [other, authority],
  ]) {
    const authorities = readAuthorities(files.map(({ cert }) => cert).join("\n"));
    assert.equal(authorities.length, 2);
    assert.equal(refusalOf(longest, authorities, now), undefined);
  }
  assert.match(refusalOf(longest, readAuthorities(other.cert), now) ?? "", /not signed by a key of ca\.crt/);
});
