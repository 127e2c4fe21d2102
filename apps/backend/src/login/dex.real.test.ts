import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { reservePorts, resolveEngine, type RunningProcess, startProcess } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { oidcClient, startLoginFixture } from "../testing/login-fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-dex-"));
stack.defer(() => rm(folder, { recursive: true }));
const reserved = stack.use(await reservePorts(2));
const [dexPort = 0, port = 0] = reserved.ports;
const issuer = `http://127.0.0.1:${dexPort}/dex`;
const user = { email: "developer@example.com", password: "password" };
await writeFile(
  join(folder, "config.yaml"),
  formatYaml({
    issuer,
    // Keys live in memory: a Dex that comes back signs with others.
    storage: { type: "memory" },
    web: { http: `127.0.0.1:${dexPort}` },
    oauth2: { skipApprovalScreen: true },
    enablePasswordDB: true,
    staticClients: [
      {
        id: oidcClient.id,
        name: "Klutch",
        secret: oidcClient.secret,
        redirectURIs: [`http://127.0.0.1:${port}/callback`],
      },
    ],
    staticPasswords: [
      {
        email: user.email,
        hash: "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W",
        username: "developer",
        userID: "a3c9f5e2-0f0b-4c43-9f62-0c1f3b3f7d10",
      },
    ],
  }),
);
const command = await resolveEngine("dex");
async function startDex(): Promise<RunningProcess> {
  const dex = await startProcess({
    name: "dex",
    command,
    args: ["serve", join(folder, "config.yaml")],
    logFile: join(folder, "dex.log"),
    ready: async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok,
  });
  return stack.use(dex);
}
const first = await startDex();
const fixture = stack.use(await startLoginFixture({ issuer, port }));

async function logIn(browser = new TestBrowser(), stopAt?: string): Promise<Landed> {
  const form = await browser.go(`${fixture.url}/authorize?s=session1&c=abc123&p=4321`);
  const values = { login: user.email, password: user.password };
  return browser.submit(form, 'name="password"', values, stopAt);
}

test("a login at a real Dex leads to the page", async () => {
  const page = await logIn();
  assert.equal(page.url.pathname, "/resources");
  assert.equal(page.status, 200);
  assert.match(page.html, /developer@example\.com/);
});

test("while Dex is away a login says so; when it is back, with other keys, logins work again", async () => {
  const browser = new TestBrowser();
  const back = await logIn(browser, `${fixture.url}/callback`);
  await first.stop();
  const away = await browser.go(back.url.href);
  assert.equal(away.status, 503);
  assert.match(away.html, /cannot be used at the moment/);
  // Its metadata are requested again, so the next login finds out before the browser is sent there.
  assert.equal((await browser.go(`${fixture.url}/authorize?s=s&c=c&p=1`)).status, 503);
  const second = await startDex();
  assert.equal((await logIn()).status, 200);
  // Away and back between two logins: the backend sees only an unknown key.
  await second.stop();
  await startDex();
  assert.equal((await logIn()).status, 200);
});
