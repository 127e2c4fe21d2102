/** `klutch login`, `templates` and `logout` at a backend that lies, and with files that others may read. */
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { honestSession, startLyingSessions } from "../testing/lying-sessions.ts";
import { type Finished, type Outside, startRun } from "../testing/run.ts";

const home = await mkdtemp(join(tmpdir(), "klutch-home-"));
after(() => rm(home, { recursive: true }));
const folder = join(home, ".config", "klutch");
const file = join(folder, "logins.yaml");
beforeEach(() => rm(join(home, ".config"), { recursive: true, force: true }));

const runs: Finished[] = [];

async function klutch(args: readonly string[], outside: Outside = {}): Promise<Finished> {
  const run = await startRun("klutch", args, { env: { HOME: home }, ...outside }).done;
  runs.push(run);
  return run;
}

type Backend = Awaited<ReturnType<typeof startLyingSessions>>;

async function logIn(backend: Backend, ...more: readonly string[]): Promise<Finished> {
  const { browser } = backend;
  const args = ["login", backend.url, "--login-as=ann@example.org", "--timeout=5s", ...more];
  return klutch(args, { browser });
}

test("a login stores the session for its owner alone, and says as whom, until when, and where", async () => {
  await using backend = await startLyingSessions();
  const run = await logIn(backend);
  assert.equal(run.code, 0, run.stderr());
  assert.match(run.stderr(), /You are logged in as Ann \(subject ann\), says https:\/\/idp\.example\.org/);
  assert.match(
    run.stderr(),
    /Logged in to Example as Ann until \d{4}-\d\d-\d\d \d\d:\d\d UTC\. The session is in /,
  );
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  assert.deepEqual(await readdir(folder), ["logins.yaml"], "nothing else is left");
  assert.ok((await readFile(file, "utf8")).includes(honestSession));
  // The address of the login names the kind of login, a port, an id and a public key, and no app cluster.
  const [line = ""] = backend.asked.flatMap((one) => (one.line.includes("/authorize") ? [one.line] : []));
  const names = [...new URL(line.slice(4), backend.url).searchParams.keys()];
  assert.deepEqual(names, ["t", "p", "s", "ek"]);
});

test("the file follows XDG_CONFIG_HOME, and a second login of the same URL takes the place of the first", async () => {
  await using backend = await startLyingSessions();
  const env = { XDG_CONFIG_HOME: join(home, ".config", "xdg") };
  const { browser } = backend;
  for (let count = 0; count < 2; count++)
    assert.equal((await klutch(["login", backend.url, "--login-as=ann"], { env, browser })).code, 0);
  const text = await readFile(join(home, ".config", "xdg", "klutch", "logins.yaml"), "utf8");
  assert.equal(text.split("- issuer").length, 2, text);
  const nowhere = await klutch(["login", backend.url], { env: {} });
  assert.match(nowhere.stderr(), /There is no place for logins: set HOME or XDG_CONFIG_HOME/);
});

test("the login of another person, or one that no one accepts, stores nothing and takes no session", async () => {
  await using backend = await startLyingSessions();
  const { browser } = backend;
  const other = await klutch(["login", backend.url, "--login-as=bob@example.org"], { browser });
  assert.match(
    other.stderr(),
    /--login-as asks for bob@example\.org\. Log in as that person\. You are not logged in/,
  );
  // A display name proves nothing.
  assert.equal((await klutch(["login", backend.url, "--login-as=Ann"], { browser })).code, 1);
  const no = await klutch(["login", backend.url], { browser, answers: ["no"] });
  assert.match(no.stderr(), /was not accepted/);
  assert.ok(!backend.asked.some(({ line }) => line.includes("/session")));
  await assert.rejects(stat(file), { code: "ENOENT" });
});

test("an offer or a session that is not of this login and person is refused with the field", async () => {
  await using backend = await startLyingSessions();
  for (const [lies, words] of [
    [{ offer: { loginId: "another" } }, /offer\.loginId: is that of another login/],
    [{ issued: { loginId: "another" } }, /session\.loginId: is that of another login/],
    [{ issued: { subject: "mallory" } }, /session\.subject: is that of another person/],
    [{ issued: { issuer: "https://evil.example.org" } }, /session\.subject: is that of another person/],
    [
      { issued: { session: "a token\r\nx-evil: 1" } },
      /session: is no session, which begins with klutch-session\./,
    ],
    [{ issued: { id: "../../x" } }, /id: must be 1 to 64 letters/],
    [{ issued: { endsAt: "tomorrow" } }, /endsAt: is not a time in UTC/],
    [
      { issued: { endsAt: "2020-01-01T00:00:00Z" } },
      /says that the session ended at 2020-01-01 00:00 UTC already/,
    ],
    [
      { session: [401, { error: "Too late.", advice: "Again." }] },
      /issued no session \(HTTP 401: Too late\. Again\.\)/,
    ],
    [{ session: [200, "<h1>Welcome</h1>"] }, /issued no session \(HTTP 200\)/],
  ] as const) {
    backend.lie(lies as object);
    const run = await logIn(backend, "--timeout=1s");
    assert.equal(run.code, 1, run.stderr());
    assert.match(run.stderr(), words);
  }
  await assert.rejects(stat(file), { code: "ENOENT" });
});

test("a provider without sessions, or with an address of them elsewhere, is refused before anyone logs in", async () => {
  await using backend = await startLyingSessions({ description: { sessionUrl: undefined } });
  assert.match(
    (await logIn(backend)).stderr(),
    /issues no sessions: its backend is of an earlier release, or/,
  );
  backend.lie({ description: { sessionUrl: "https://evil.example.org/session" } });
  assert.match(
    (await logIn(backend)).stderr(),
    /issues sessions at https:\/\/evil\.example\.org, which is another server/,
  );
  assert.ok(!backend.asked.some(({ line }) => line.includes("/authorize")));
});

test("templates lists what the person may bind, in five forms, and no name steers the terminal", async () => {
  const escape = "\u001b[2J<b>pg</b>\u202e";
  const items = [
    {
      group: "anynines.com",
      resource: "postgresqlinstances",
      kind: "PostgresqlInstance",
      services: ["postgresql"],
      fields: [{ name: "plan", about: `small ${escape}` }],
      prices: [
        { plan: "small", perMonth: { amount: "25.00", currency: "EUR", backupGiB: "0.02" } },
        { plan: `big${escape}`, services: ["pg13"], perMonth: { amount: "90.00", currency: "EUR" } },
      ],
      state: "Available",
      description: escape,
    },
    { group: "x.org", resource: "queues", state: "Unavailable", reason: `its kind is gone ${escape}` },
  ];
  await using backend = await startLyingSessions({
    templates: [200, { endsAt: "2100-01-01T00:00:00Z", items }],
  });
  await logIn(backend);
  const table = await klutch(["templates"]);
  assert.equal(table.code, 0, table.stderr());
  assert.match(
    table.stdout(),
    /^API +SERVICES +STATE\npostgresqlinstances\.anynines\.com +postgresql +Available\n/,
  );
  assert.match(table.stdout(), /^queues\.x\.org +Unavailable: its kind is gone/m);
  const wide = await klutch(["templates", backend.url, "-o", "wide"]);
  assert.match(wide.stdout(), /^API .* KIND +PRICE +PLANS AND FIELDS/);
  assert.match(
    wide.stdout(),
    /PostgresqlInstance +small 25\.00 EUR \+ 0\.02 per GiB of backups, big\S* 90\.00 EUR \(pg13\) +plan: small/,
  );
  const json = await klutch(["templates", "-o", "json"]);
  const list = JSON.parse(json.stdout()) as { readonly kind: string; readonly items: readonly object[] };
  assert.deepEqual([list.kind, list.items.length], ["TemplateList", 2]);
  const yaml = await klutch(["templates", "-o", "yaml"]);
  assert.match(yaml.stdout(), /"?kind"?: "?TemplateList/);
  const name = await klutch(["templates", "-o", "name"]);
  assert.equal(name.stdout(), "postgresqlinstances.anynines.com\n");
  for (const run of [table, wide, json, yaml, name])
    for (const one of ["\u001b", "\u202e"]) assert.ok(!`${run.stdout()}${run.stderr()}`.includes(one));
  assert.match(
    (await klutch(["templates", "-o", "csv"])).stderr(),
    /Unknown output format -o "csv": use json, yaml, wide, name/,
  );
  const sent = backend.asked.filter(({ line }) => line.includes("/api/templates"));
  assert.deepEqual(
    new Set(sent.map(({ authorization }) => authorization)),
    new Set([`Bearer ${honestSession}`]),
  );
});

test("an answer about APIs that is none, a refusal and a redirect are told, and a session that is over is forgotten", async () => {
  await using backend = await startLyingSessions();
  await logIn(backend);
  for (const [templates, words] of [
    [
      [200, { endsAt: "2100-01-01T00:00:00Z", items: [{ resource: "x", state: "Great" }] }],
      /items\[0\]\.state: must be Available or Unavailable/,
    ],
    ...(["-1.00", "1e999", 25, "<b>"] as const).map(
      (amount) =>
        [
          [
            200,
            {
              endsAt: "2100-01-01T00:00:00Z",
              items: [
                {
                  resource: "x",
                  state: "Available",
                  prices: [{ plan: "p", perMonth: { amount, currency: "EUR" } }],
                },
              ],
            },
          ],
          /items\[0\]\.prices\[0\]\.perMonth\.amount/,
        ] as const,
    ),
    [[200, "<h1>Welcome</h1>"], /cannot be used: answer: is not an object/],
    [[302, {}], /did not list its APIs \(HTTP 302\)\./],
    [
      [403, { error: "There is no API that you may bind here.", advice: "Ask." }],
      /HTTP 403: There is no API that you may bind here\. Ask\./,
    ],
    [
      [401, { error: "Your session was ended by a logout.", advice: "Log in." }],
      /HTTP 401: Your session was ended by a logout/,
    ],
  ] as const) {
    backend.lie({ templates });
    const run = await klutch(["templates"]);
    assert.equal(run.code, 1);
    assert.match(run.stderr(), words);
  }
  assert.match(
    (await klutch(["templates"])).stderr(),
    /You are not logged in anywhere, or the session is over\. Log in with klutch login <url>/,
  );
  const elsewhere = await klutch(["templates", "https://other.example.org/export"]);
  assert.match(elsewhere.stderr(), /not logged in at https:\/\/other\.example\.org\/export/);
});

test("logout ends the session at the backend, forgets it, and shows an address of the identity provider as text only", async () => {
  await using backend = await startLyingSessions();
  const endSessionUrl = "https://idp.example.org/logout?client_id=klutch";
  const opened: string[] = [];
  for (const [lies, words, rest] of [
    [
      { logout: [500, {}] },
      /did not end the session \(HTTP 500\)\. The session is still there: run the command again/,
      true,
    ],
    [
      { logout: [200, { endSessionUrl }] },
      /Logged out Ann at [^]*To end that, too, open https:\/\/idp\.example\.org\/logout\?client_id=klutch/,
      false,
    ],
    [{ logout: [200, { endSessionUrl: "javascript:alert(1)" }] }, /Logged out Ann at \S+\n$/, false],
    [{ logout: [200, { endSessionUrl: "http://evil.example.org/" }] }, /Logged out Ann at \S+\n$/, false],
    [
      { logout: [200, { endSessionUrl: "https://a.example.org/\u001b[2J" }] },
      /Logged out Ann at \S+\n$/,
      false,
    ],
    [{ logout: [401, { error: "Ended." }] }, /The session of Ann at \S+ was over already/, false],
  ] as const) {
    backend.lie({});
    await logIn(backend);
    backend.lie(lies as object);
    const run = await klutch(["logout"], { browser: (url) => void opened.push(url) });
    assert.match(run.stderr(), words);
    assert.equal((await readFile(file, "utf8")).includes(honestSession), rest);
  }
  assert.deepEqual(opened, []);
});

test("logout --all ends the session at each provider, and one that does not answer stays for the next time", async () => {
  await using one = await startLyingSessions();
  await using two = await startLyingSessions();
  await logIn(one);
  await logIn(two);
  assert.match(
    (await klutch(["logout"])).stderr(),
    /logged in at several providers: http:\S+, http:\S+ Name one of them/,
  );
  assert.match((await klutch(["logout", one.url, "--all"])).stderr(), /Name one URL, or pass --all/);
  two.lie({ logout: [503, { error: "Not now.", advice: "Wait." }] });
  const run = await klutch(["logout", "--all"]);
  assert.equal(run.code, 1);
  assert.match(run.stderr(), /Logged out Ann[^]*HTTP 503: Not now\. Wait\./);
  two.lie({});
  assert.equal((await klutch(["logout", "--all"])).code, 0);
  assert.match((await klutch(["logout", "--all"])).stderr(), /You are not logged in anywhere/);
});

test("a file or folder that others may read, change or replace is not used, and no session is sent", async () => {
  await using backend = await startLyingSessions();
  await logIn(backend);
  const { length } = backend.asked;
  const refused = async (words: RegExp): Promise<void> => {
    for (const args of [["templates"], ["logout"], ["login", backend.url]]) {
      const run = await klutch(args, { browser: backend.browser });
      assert.equal(run.code, 1);
      assert.match(run.stderr(), words);
    }
    assert.equal(backend.asked.length, length);
  };
  for (const mode of [0o644, 0o640, 0o620, 0o602]) {
    await chmod(file, mode);
    await refused(
      /logins\.yaml has mode 06\d\d, so others may read or change it, and it is not used\. Run chmod 600/,
    );
  }
  await chmod(file, 0o600);
  await chmod(folder, 0o777);
  await refused(
    /klutch has mode 0777, so others may replace files in it, and it is not used\. Run chmod 700/,
  );
  await chmod(folder, 0o700);
  const moved = join(home, "elsewhere.yaml");
  await writeFile(moved, await readFile(file), { mode: 0o600 });
  await rm(file);
  await symlink(moved, file);
  await refused(/logins\.yaml is a link, and it is not used\. Delete it/);
  await rm(moved);
});

test("a file that holds something else is refused by field, and its content is in no message", async () => {
  const good = {
    url: "https://a.example.org/export",
    sessionUrl: "https://a.example.org/session",
    id: "s",
    session: honestSession,
    issuer: "i",
    subject: "s",
    endsAt: "2100-01-01T00:00:00Z",
  };
  const fileOf = (login: object): string =>
    JSON.stringify({ apiVersion: "klutch.anynines.com/v1alpha1", kind: "Logins", logins: [login] });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  for (const [text, words] of [
    [`session: ${honestSession}\nmore: [`, /cannot be used: it is not YAML\. Delete it/],
    ["kind: Config", /kind: must be Logins of klutch\.anynines\.com\/v1alpha1/],
    [fileOf({ ...good, session: "the-secret-part" }), /logins\[0\]\.session: is no session/],
    [fileOf({ ...good, sessionUrl: "file:///etc/passwd" }), /logins\[0\]\.sessionUrl: is not an address/],
    [fileOf({ ...good, url: "https://a.example.org/\u001b[2J" }), /logins\[0\]\.url: is not an address/],
    [fileOf({ ...good, subject: 7 }), /logins\[0\]\.subject: is missing or not a string/],
    [fileOf({ ...good, endsAt: "never" }), /logins\[0\]\.endsAt: is not a time in UTC/],
  ] as const) {
    await writeFile(file, text, { mode: 0o600 });
    const run = await klutch(["templates"]);
    assert.equal(run.code, 1);
    assert.match(run.stderr(), words);
  }
});

test("no output of any of these commands holds a session", () => {
  assert.ok(runs.length > 40);
  for (const run of runs)
    assert.ok(!`${run.stdout()}${run.stderr()}`.includes("the-secret-part"), run.stderr());
});
