/** The proof at a login, through the real routes and a real identity provider. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { clusterProofText, newClusterKey, publicKeyOf, renewalText, signText } from "@klutch/api";
import { Secret } from "@klutch/telemetry";
import { createSealer } from "../sealed-cookie.ts";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { startIdentityProvider } from "../testing/identity-provider.ts";
import { startLoginFixture } from "../testing/login-fixture.ts";
import { createClusterKeyOf } from "./cluster-proof.ts";

const url = "https://backend.example.org/renew";
const sealer = createSealer("renewal", { signing: new Secret(Buffer.alloc(32, 5)), encryption: undefined });
const fixture = await startLoginFixture({
  issuer: startIdentityProvider,
  clusterKeyOf: createClusterKeyOf({ sealer, url }),
});
after(() => fixture[Symbol.asyncDispose]());
const login = { sessionId: "session1", clusterId: "abc123" };
const key = newClusterKey();
const challenge = await sealer.seal({ issuedAt: String(Date.now()), nonce: "n" }, 600);

function proof(
  changes: Partial<{
    url: string;
    sessionId: string;
    clusterId: string;
    challenge: string;
    key: string;
  }> = {},
): Record<string, string> {
  const { url: to = url, key: by = key, challenge: over = challenge, ...named } = changes;
  const signature = signText(by, clusterProofText(to, { ...login, ...named }, over));
  return { k: publicKeyOf(key) ?? "", h: over, g: signature };
}

async function begin(browser: TestBrowser, more: Record<string, string>, stopAt?: string): Promise<Landed> {
  const query = new URLSearchParams({ s: "session1", c: "abc123", p: "4321", ...more }).toString();
  let page = await browser.go(`${fixture.url}/authorize?${query}`, {}, stopAt);
  if (page.html.includes('name="password"')) {
    page = await browser.submit(page, 'name="password"', { login: "someone", password: "x" }, stopAt);
  }
  return page;
}

async function provenBy(more: Record<string, string>): Promise<string | undefined> {
  const browser = new TestBrowser();
  const page = await begin(browser, more);
  assert.equal(page.url.pathname, "/resources");
  await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
  return fixture.bound.at(-1)?.session.clusterKey;
}

test("a proof travels from the plugin through the login to the binding; without one nothing is proven", async () => {
  assert.equal(await provenBy(proof()), publicKeyOf(key));
  assert.equal(await provenBy({}), undefined);
});

const expired = await sealer.seal({ issuedAt: "0", nonce: "n" }, -1);
const refused: Readonly<Record<string, Record<string, string>>> = {
  "another key": proof({ key: newClusterKey() }),
  "another session": proof({ sessionId: "session2" }),
  "another cluster whose id begins alike": proof({ clusterId: "abc123xyz" }),
  "another backend": proof({ url: "https://evil.example.org/renew" }),
  "a challenge that is not ours": proof({ challenge: "made-up" }),
  "an expired challenge": proof({ challenge: expired }),
  "a signature that was made to renew": {
    ...proof(),
    g: signText(key, renewalText(url, { namespace: "cluster-one", challenge })),
  },
  "a key without a signature": { k: publicKeyOf(key) ?? "" },
};
for (const [what, query] of Object.entries(refused)) {
  test(`a login with a proof for ${what} is refused before it begins`, async () => {
    const page = await begin(new TestBrowser(), query);
    assert.equal(page.status, 400);
    assert.match(page.html, /The proof that you hold this app cluster/);
  });
}
