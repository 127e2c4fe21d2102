/**
 * docs/add-a-service.md, "A table from a broker's catalog", with Cloud Foundry's Cloud Service Broker: its catalog becomes a table, a person edits it, and
 * a developer uses the service by real Crossplane and our provider. OpenTofu makes the mailboxes, each of which is a folder.
 */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { formatYaml } from "@klutch/kube";
import { type ResourceType, secrets, secretText } from "@klutch/kube-core";
import { secretObject, startCloudServiceBroker, waitFor } from "@klutch/kube-testing";
import { typed } from "@klutch/launcher";
import { Claims } from "./claims.ts";
import { cliFilesIn, startOwnSandbox } from "./own-sandbox.ts";

const claimOf = (kind: string): ResourceType => {
  const plural = `${kind.toLowerCase()}s`;
  return { group: "anynines.com", version: "v1", plural, kind, namespaced: true };
};
const mailboxes = claimOf("MailboxInstance");
const bindings = claimOf("ServiceBinding");

const sandbox = await startOwnSandbox("from-catalog");
const stack = new AsyncDisposableStack();
stack.use(sandbox);
after(() => stack.disposeAsync());
const { folder, root } = sandbox;
const { bin, kubeconfigs } = cliFilesIn(folder);
const controlPlane = await sandbox.client("control-plane");
const shop = new Claims(await sandbox.client("app-a"), "default");
const made = join(root, "mailboxes");
await mkdir(made);
const broker = stack.use(
  await startCloudServiceBroker({
    brokerpak: join(import.meta.dirname, "mailboxes"),
    folder: root,
    env: { MAILBOXES: made },
  }),
);

/** Types lines in a shell of the platform team, at the control plane. */
function types(text: string): Promise<string> {
  const PATH = [bin, process.env["PATH"]].join(delimiter);
  const { url: BROKER_URL, password: KLUTCH_BROKER_PASSWORD } = broker;
  const env = { PATH, HOME: root, KUBECONFIG: kubeconfigs.controlPlane, BROKER_URL, KLUTCH_BROKER_PASSWORD };
  return typed(text, root, env);
}

/** A person's edits of the table, each of which must meet a line. */
const edits: readonly (readonly [from: string, to: string])[] = [
  ["metadata: { name: csb-mailbox }", "metadata: { name: mailbox }"],
  ["claim: { kind: CsbMailboxInstance }", "claim: { kind: MailboxInstance }"],
  ["title: Mailbox", "title: Mail"],
  ["# sizes: [{ word: small }, { word: big }]", "sizes: [{ word: small }, { word: large }]"],
  ["      rules:\n", "      rules:\n        - neverSmaller: {}\n"],
  ["[database, host, password, port, uri, username]", "[address, host, password, port, retention, username]"],
];

test("the catalog of a foreign broker becomes a table, which a person edits, checks and applies", async () => {
  const first = await types(
    'klutch service from-catalog --url "$BROKER_URL" --username klutch --service csb-mailbox --to mailbox.yaml',
  );
  assert.doesNotMatch(first, /warning/);
  let table = await readFile(join(root, "mailbox.yaml"), "utf8");
  for (const [from, to] of edits) {
    assert.ok(table.includes(from), `${from} in\n${table}`);
    table = table.replace(from, to);
  }
  await writeFile(join(root, "mailbox.yaml"), table);
  assert.match(await types("klutch service check mailbox.yaml"), /mailbox\.yaml has no faults/);
  const rendered = await types("klutch service render mailbox.yaml --to manifests");
  assert.match(rendered, /manifests\/apis\/xmailboxinstances\.anynines\.com\.yaml/);
  const missing = await types("klutch service apply mailbox.yaml");
  assert.match(missing, /name: mailbox-service-broker/);
});

test("the broker's ProviderConfig is healthy without organisation and space, and the service is bound", async () => {
  const namespace = "crossplane-system";
  const { username, password, url } = broker;
  await controlPlane.create(secrets, secretObject(namespace, "mailbox-broker", { username, password }));
  const key = (name: string): object => ({ secretRef: { namespace, name: "mailbox-broker", key: name } });
  const config = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name: "mailbox-service-broker" },
    spec: {
      url,
      serviceType: "servicebroker",
      healthCheckEndpoint: "/ready",
      context: { kind: "None" },
      providerCredentials: { source: "Secret", username: key("username"), password: key("password") },
    },
  };
  await writeFile(join(root, "config.yaml"), formatYaml(config));
  await types("kubectl apply -f config.yaml");
  await types(
    "kubectl wait providerconfigs.dataservices.anynines.com/mailbox-service-broker --for=condition=Healthy --timeout=60s",
  );
  await sandbox.bind("mailboxinstances", "servicebindings");
});

const domain = "shop.example.org";
const spec = { service: "csb-mailbox", plan: "mailbox-small", parameters: { domain, retentionDays: 7 } };

test("a parameter that the catalog's schema forbids is refused at the app cluster's API server, with words", async () => {
  const refused = async (parameters: object, words: RegExp): Promise<void> => {
    await assert.rejects(shop.create(mailboxes, "wrong", { ...spec, parameters }), words);
  };
  await refused({ domain, retentionDays: 91 }, /spec\.parameters\.retentionDays.*less than or equal to 90/);
  await refused({ domain, greeting: "fr" }, /spec\.parameters\.greeting.*"fr": supported values: "de", "en"/);
  await refused({ domain: "Shop!" }, /spec\.parameters\.domain.*should match/);
  await refused({ retentionDays: 7 }, /parameters\.domain is required/);
  assert.deepEqual(await readdir(made), []);
});

/** The only mailbox: its files, and what it was set to. */
async function mailbox(): Promise<{ readonly files: readonly string[]; readonly settings: unknown }> {
  const [name = "", ...others] = await readdir(made);
  assert.deepEqual(others, []);
  const settings: unknown = JSON.parse(await readFile(join(made, name, "settings.json"), "utf8"));
  return { files: await readdir(join(made, name)), settings };
}

test("a claim becomes Ready when OpenTofu has made the mailbox, and the Secret has the broker's outputs", async () => {
  await shop.create(mailboxes, "mail", spec);
  await shop.ready(mailboxes, "mail");
  assert.deepEqual((await mailbox()).settings, { days: 7, greeting: "en", quota: 10 });
  await shop.create(bindings, "mail-app", { instanceRef: "mail", serviceInstanceType: "mailbox" });
  await shop.ready(bindings, "mail-app");
  const secret = await waitFor("the Secret", () => shop.find(secrets, "mail-app-creds"));
  const text = (key: string): string => secretText(secret, key) ?? "";
  assert.deepEqual(["address", "host", "port", "retention"].map(text), [
    `postmaster@${domain}`,
    `mail.${domain}`,
    "993",
    "7 days",
  ]);
  assert.match(text("password"), /^[0-9a-f-]{36}$/);
  assert.ok((await mailbox()).files.includes(text("username")), text("username"));
});

test("a changed parameter and a larger plan arrive; a smaller plan and another domain are refused", async () => {
  await shop.patch(mailboxes, "mail", { spec: { parameters: { retentionDays: 30 } } });
  await waitFor("the new retention", async () => {
    const { settings } = await mailbox();
    assert.deepEqual(settings, { days: 30, greeting: "en", quota: 10 });
    return true;
  });
  await shop.ready(mailboxes, "mail");
  await shop.patch(mailboxes, "mail", { spec: { plan: "mailbox-large" } });
  await waitFor("the new plan", async () => {
    const { settings } = await mailbox();
    assert.deepEqual(settings, { days: 30, greeting: "en", quota: 100 });
    return true;
  });
  await shop.ready(mailboxes, "mail");
  await assert.rejects(shop.patch(mailboxes, "mail", { spec: { plan: "mailbox-small" } }), /smaller|shrink/);
  await assert.rejects(
    shop.patch(mailboxes, "mail", { spec: { parameters: { domain: "other.example.org" } } }),
    /parameters\.domain cannot be changed after creation/,
  );
});

/** Rows of the broker's own tables. */
function rowsOfBroker(): readonly number[] {
  using database = new DatabaseSync(broker.database, { readOnly: true });
  return ["service_instance_details", "service_binding_credentials", "terraform_deployments"].map((table) =>
    Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"]),
  );
}

test("deleted claims leave nothing at the broker: no folder, and no row", async () => {
  assert.deepEqual(rowsOfBroker(), [1, 1, 2]);
  await shop.delete(bindings, "mail-app");
  await shop.gone(secrets, "mail-app-creds");
  assert.deepEqual(
    (await mailbox()).files.filter((name) => name.startsWith("login-")),
    [],
  );
  await shop.delete(mailboxes, "mail");
  assert.deepEqual(await readdir(made), []);
  assert.deepEqual(rowsOfBroker(), [0, 0, 0]);
});
