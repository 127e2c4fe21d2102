import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { BindingResponse } from "@klutch/api";
import { reservePorts, startKeycloak } from "@klutch/engines";
import { systemClock } from "@klutch/kube";
import { answerTo, crdObject, leaseCluster, waitFor } from "@klutch/kube-testing";
import { Secret } from "@klutch/telemetry";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import {
  createRealm,
  developer,
  manager,
  realmDeviceClient,
  type RealmUser,
} from "../testing/keycloak-realm.ts";
import { oidcClient, startLoginFixture } from "../testing/login-fixture.ts";
import { databases, installProvider, offerDatabases } from "../testing/provider.ts";
import { startBackend } from "../testing/start-backend.ts";
import type { Person } from "../identity.ts";
import { createIdTokenVerifier } from "./id-token.ts";
import { IdentityProvider } from "./identity-provider.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const [keycloakPort = 0, port = 0] = stack.use(await reservePorts(2)).ports;
const first = stack.use(await startKeycloak(keycloakPort));
const redirectUri = `http://127.0.0.1:${port}/callback`;
const realm = await createRealm(first, redirectUri);
const fixture = stack.use(await startLoginFixture({ issuer: realm.issuer, port }));
const start = `${fixture.url}/authorize?s=session1&c=abc123&p=4321`;

async function logIn(
  { username, password }: RealmUser,
  browser: TestBrowser = new TestBrowser(),
  stopAt?: string,
): Promise<Landed> {
  return browser.submit(await browser.go(start), 'name="password"', { username, password }, stopAt);
}

/** Returns the identity that the backend recorded for the login, as a binding shows it. */
async function identityAfter(page: Landed, browser: TestBrowser): Promise<unknown> {
  assert.equal(page.status, 200, page.html);
  await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
  const { issuer, subject, displayName } = fixture.bound.at(-1)?.session ?? {};
  return { issuer, subject, displayName };
}

function identityOf({ id, username }: RealmUser): Person {
  return { issuer: realm.issuer, subject: id, displayName: `${username}@example.org` };
}

/** As the ID token says it, with the address that the realm calls verified. */
function personOf(user: RealmUser): Person {
  const identity = identityOf(user);
  return { ...identity, verifiedEmail: identity.displayName };
}

test("a login at a real Keycloak is of its user, whatever roles and groups the user has", async () => {
  const browser = new TestBrowser();
  const page = await logIn(developer, browser);
  assert.equal(page.url.pathname, "/resources");
  const claims = Buffer.from((await realm.idToken(developer)).split(".")[1] ?? "", "base64url").toString();
  assert.match(claims, /"owns"/);
  assert.match(claims, /"reads"/);
  assert.match(claims, /"\/company\/platform\/databases"/);
  assert.deepEqual(await identityAfter(page, browser), identityOf(developer));
});

test("a login whose tokens exceed 8 KB works, and its cookies stay small", async () => {
  assert.ok((await realm.idToken(manager)).length > 8_192);
  const browser = new TestBrowser();
  const page = await logIn(manager, browser);
  const cookies = browser.cookies.get(new URL(fixture.url).host) ?? new Map<string, string>();
  assert.ok([...cookies.values()].join("").length < 2_048, [...cookies.values()].join("\n"));
  assert.deepEqual(await identityAfter(page, browser), identityOf(manager));
});

test("a wrong password stays at Keycloak", async () => {
  const page = await logIn({ ...developer, password: "wrong" });
  assert.ok(page.url.href.startsWith(realm.issuer), page.url.href);
});

test("when the signing key was replaced logins work at once, and tokens of the removed key are refused", async () => {
  const verify = createIdTokenVerifier({
    issuer: realm.issuer,
    clientId: oidcClient.id,
    keySetUrl: new URL(`${realm.issuer}/protocol/openid-connect/certs`),
    keyCooldownMs: 10_000,
    clock: systemClock,
  });
  const old = await realm.idToken(developer);
  assert.deepEqual(await verify(old), personOf(developer));
  await realm.rotateKey();
  assert.equal((await logIn(developer)).status, 200);
  assert.deepEqual(await verify(await realm.idToken(manager)), personOf(manager));
  await assert.rejects(verify(old), /no applicable key found/);
});

test("a program with a service account binds without a browser, once its tokens name the backend", async () => {
  const cluster = stack.use(await leaseCluster({ name: "keycloak" }));
  await installProvider(cluster.client, [crdObject(databases)]);
  await offerDatabases(cluster.client);
  const flags = [
    `--oidc-issuer-url=${realm.issuer}`,
    `--oidc-issuer-client-id=${oidcClient.id}`,
    `--oidc-issuer-client-secret=${oidcClient.secret}`,
    `--oidc-callback-url=${redirectUri}`,
    `--cookie-signing-key=${Buffer.alloc(32, 7).toString("base64")}`,
    "--bind-authorization=everyone",
    "--ci-clients=tenant-a",
    "--ci-clients=tenant-b",
  ];
  const { backend } = await startBackend(stack, cluster, { flags });
  const body = JSON.stringify({ clusterID: "eu-1", apis: [{ group: "example.org", resource: "databases" }] });
  const post = async (token: string): Promise<{ readonly status: number; readonly text: string }> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await backend.app.request("/bind-noninteractive", { method: "POST", headers, body });
    return { status: answer.status, text: await answer.text() };
  };
  const bare = await realm.addProgram("tenant-a");
  assert.match((await post(await bare())).text, /"scope\\" is \\".*without klutch\/bind/);
  await realm.addScope("klutch/bind", oidcClient.id);
  const tokenOf = await realm.addProgram("tenant-b");
  const token = await tokenOf();
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as object;
  const { status, text } = await waitFor("the offer", async () => {
    const answer = await post(token);
    return answer.status === 404 ? undefined : answer;
  });
  assert.equal(status, 200, `${text} ${JSON.stringify(claims)}`);
  const { kubeconfig } = JSON.parse(text) as BindingResponse;
  assert.equal(await answerTo(Buffer.from(kubeconfig, "base64").toString()), 200);
  const idToken = await realm.idToken(developer);
  assert.match((await post(idToken)).text, /not Bearer: it is no access token/);
});

function deviceProvider(): IdentityProvider {
  const config = {
    issuer: realm.issuer,
    clientId: oidcClient.id,
    clientSecret: new Secret(oidcClient.secret),
    callbackUrl: redirectUri,
    authorizeUrl: undefined,
    deviceClientId: realmDeviceClient,
  };
  return new IdentityProvider(config, systemClock);
}

test("a code for another device is approved at Keycloak, polled, and used once", async () => {
  const provider = deviceProvider();
  const { code, deviceCode } = await provider.beginDevice();
  assert.equal(provider.offersDevice, true);
  assert.deepEqual(await provider.pollDevice(deviceCode), { kind: "pending" });
  // Before the interval is over.
  assert.deepEqual(await provider.pollDevice(deviceCode), { kind: "slowDown" });
  const browser = new TestBrowser();
  const { username, password } = developer;
  const form = await browser.go(code.verificationUriComplete ?? "");
  const consent = await browser.submit(form, 'name="password"', { username, password });
  assert.doesNotMatch(consent.url.href, /secret/);
  const done = await browser.submit(consent, 'name="accept"', { accept: "Yes" });
  assert.equal(done.status, 200, done.html);
  await systemClock.sleep(2 * code.interval * 1000);
  assert.deepEqual(await provider.pollDevice(deviceCode), { kind: "approved", person: personOf(developer) });
  await assert.rejects(provider.pollDevice(deviceCode), /did not accept the login: invalid_grant/);
});

test("a code that the person denies at Keycloak ends the login", async () => {
  const provider = deviceProvider();
  const { code, deviceCode } = await provider.beginDevice();
  const browser = new TestBrowser();
  const { username, password } = manager;
  const form = await browser.go(code.verificationUriComplete ?? "");
  const consent = await browser.submit(form, 'name="password"', { username, password });
  await browser.submit(consent, 'name="cancel"', { cancel: "No" });
  await assert.rejects(provider.pollDevice(deviceCode), /was refused at the identity provider/);
});

test("a person who logs out at Keycloak is named by a logout token that counts, and its other tokens do not", async () => {
  const provider = deviceProvider();
  await provider.probe();
  const page = new URL(provider.endSessionUrl ?? "");
  assert.equal(page.href, `${realm.issuer}/protocol/openid-connect/logout?client_id=${oidcClient.id}`);
  const browser = new TestBrowser();
  assert.equal((await logIn(developer, browser)).status, 200);
  const question = await browser.go(page.href);
  await browser.submit(question, 'name="session_code"', { confirmLogout: "Logout" });
  const token = await waitFor("the logout token", () => fixture.logoutTokens.at(-1));
  const { issuer, subject, at } = await provider.logout(token);
  assert.deepEqual([issuer, subject], [realm.issuer, developer.id]);
  assert.ok(Math.abs(at - systemClock.now()) < 60_000);
  await assert.rejects(provider.logout(await realm.idToken(developer)), /logout token is not accepted/);
});

test("while Keycloak is away a login says so with 503; when it is back logins work again", async () => {
  const browser = new TestBrowser();
  const back = await logIn(developer, browser, `${fixture.url}/callback`);
  await first.process.stop();
  const away = await browser.go(back.url.href);
  assert.equal(away.status, 503);
  assert.match(away.html, /cannot be used at the moment/);
  assert.equal((await new TestBrowser().go(start)).status, 503);
  const second = stack.use(await startKeycloak(keycloakPort));
  // It kept nothing, but the users are the same.
  await createRealm(second, redirectUri);
  const again = new TestBrowser();
  const page = await logIn(developer, again);
  assert.deepEqual(await identityAfter(page, again), identityOf(developer));
});
