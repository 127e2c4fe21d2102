/**
 * Services of the sandbox, each from a claim in an app cluster to its client, through a rotation and a restore, and back to nothing; PostgreSQL has
 * whole-way.real and rotation.real.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, suite, test } from "node:test";
import { claimNameLabel, serviceInstances } from "@klutch/api";
import { type DynamicObject, namespaces, recordAt, secrets, secretText } from "@klutch/kube-core";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { claimResource } from "@klutch/services";
import { backups, bindings, restores } from "./claim-kinds.ts";
import { Claims } from "./claims.ts";
import { allowManyDeletions, startOwnSandbox } from "./own-sandbox.ts";
import * as clients from "./service-clients.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const shop = createServer((_, answer) => answer.end("orders_total 42\n"));
shop.listen(0, "127.0.0.1");
await once(shop, "listening");
stack.defer(() => void shop.close());
const address = shop.address();
assert.ok(typeof address === "object" && address !== null);

/** A service, and keys of its Secrets as a9s documents them ("Service Instance Access"), without those of programs that the sandbox lacks. */
interface Service {
  readonly type: string;
  readonly kind: string;
  readonly spec: object;
  readonly keys: string;
  readonly hasBackups: boolean;
  readonly application: (secret: clients.Entries) => clients.Application;
}

const scrapeConfigs = [
  {
    job_name: "shop",
    scrape_interval: "1s",
    static_configs: [{ targets: [`127.0.0.1:${address.port}`] }],
  },
];
const usual: readonly Service[] = [
  {
    type: "mariadb",
    kind: "MariadbInstance",
    spec: { service: "a9s-mariadb1011", plan: "mariadb-single-nano-ssl" },
    keys: "cacrt host hosts name password port uri username",
    hasBackups: true,
    application: clients.mariadbApplication,
  },
  {
    type: "keyvalue",
    kind: "KeyvalueInstance",
    spec: { service: "a9s-keyvalue8", plan: "keyvalue-single-nano-ssl" },
    keys: "cacrt host hosts load_balanced_host valkey.password valkey.port valkey.username",
    hasBackups: true,
    application: clients.keyvalueApplication,
  },
  {
    type: "objectstorage",
    kind: "ObjectstorageInstance",
    spec: {
      service: "klutch-objectstorage",
      plan: "objectstorage-nano",
      parameters: { deleteObjects: true },
    },
    keys: "accessKey bucket cacrt endpoint region secretKey",
    hasBackups: true,
    application: clients.objectstorageApplication,
  },
];
/** Services that the sandbox offers when asked for. */
const onDemand: readonly Service[] = [
  {
    type: "prometheus",
    kind: "PrometheusInstance",
    spec: { service: "a9s-prometheus", plan: "prometheus-single-small", parameters: { scrapeConfigs } },
    keys: "password prometheus_urls username",
    hasBackups: false,
    application: clients.prometheusApplication,
  },
  {
    type: "mongodb",
    kind: "MongodbInstance",
    spec: { service: "a9s-mongodb70", plan: "mongodbsspl-single-nano" },
    keys: "default_database hosts password uri username",
    hasBackups: true,
    application: clients.mongodbApplication,
  },
  {
    type: "messaging",
    kind: "MessagingInstance",
    spec: { service: "a9s-messaging310", plan: "messaging-single-nano-ssl" },
    keys:
      "http_api_uri http_api_uris protocols.amqp_ssl.host protocols.amqp_ssl.hosts protocols.amqp_ssl.password protocols.amqp_ssl.port " +
      "protocols.amqp_ssl.ssl protocols.amqp_ssl.uri protocols.amqp_ssl.username protocols.management.cacrt protocols.management.host " +
      "protocols.management.hosts protocols.management.password protocols.management.path protocols.management.port " +
      "protocols.management.ssl protocols.management.uri protocols.management.uris protocols.management.username",
    hasBackups: true,
    application: clients.messagingApplication,
  },
  {
    type: "search",
    kind: "SearchInstance",
    spec: { service: "a9s-search2", plan: "search-single-nano-ssl" },
    keys: "cacrt host hosts password port scheme username",
    hasBackups: true,
    application: clients.searchApplication,
  },
  {
    type: "logme2",
    kind: "Logme2Instance",
    spec: { service: "a9s-logme2", plan: "logme-single-small-ssl" },
    keys: "cacrt host password syslog_drain_url username",
    hasBackups: true,
    application: clients.logme2Application,
  },
];

const services = [...usual, ...onDemand];
const sandbox = stack.use(
  await startOwnSandbox("services", "--services", onDemand.map(({ type }) => type).join(",")),
);
const plurals = services.map(({ kind }) => `${kind.toLowerCase()}s`);
await sandbox.bind(...plurals, "servicebindings", "backups", "restores");
const appA = await sandbox.client("app-a");
const controlPlane = await sandbox.client("control-plane");
await allowManyDeletions(appA);
await appA.create(namespaces, namespaceObject("shop"));
const claims = new Claims(appA, "shop");

/** Returns what the Secret of a binding says. */
async function secretOf(binding: string): Promise<clients.Entries> {
  const secret = await waitFor(`the Secret of ${binding}`, () => claims.find(secrets, `${binding}-creds`));
  const names = Object.keys(recordAt(secret, "data"));
  return Object.fromEntries(names.map((name) => [name, secretText(secret, name) ?? ""]));
}

/** Waits until the server takes the login no more: a login ends a moment after its binding. */
async function isShut(app: clients.Application, what: string): Promise<void> {
  await waitFor(`the end of ${what}`, () =>
    app.has().then(
      () => false,
      () => true,
    ),
  );
}

suite("services", { concurrency: 2 }, () => {
  for (const { type, kind, spec, keys, hasBackups, application } of services)
    test(`${type}: a claim becomes a server that its client uses${hasBackups ? ", destroyed data is back after a restore" : ""}, and nothing is left`, async () => {
      const instances = claimResource(kind);
      const of = { instanceRef: type, serviceInstanceType: type };
      const names = [`${type}-app`, `${type}-other`] as const;
      await claims.create(instances, type, spec);
      for (const name of names) await claims.create(bindings, name, of);
      for (const name of names) await claims.ready(bindings, name);
      const [secret, other] = await Promise.all(names.map(secretOf));
      assert.ok(secret !== undefined && other !== undefined);
      assert.deepEqual(Object.keys(secret).toSorted().join(" "), keys);
      const old = application(secret);
      const isThere = (app: clients.Application): Promise<unknown> =>
        waitFor(`the thing in ${type}`, () => app.has(), { timeoutMs: 120_000 });
      await old.write();
      await isThere(old);
      await claims.patch(bindings, names[0], { spec: { rotate: "leak-1", rotateGraceSeconds: 0 } });
      const rotated = await waitFor("new credentials", async () => {
        const now = await secretOf(names[0]);
        return JSON.stringify(now) === JSON.stringify(secret) ? undefined : now;
      });
      const app = application(rotated);
      assert.ok(await app.has(), "the new login reads what the old one wrote");
      await isShut(old, "the rotated login");
      if (hasBackups) {
        await claims.create(backups, `${type}-night`, of);
        await claims.ready(backups, `${type}-night`);
        await app.destroy();
        assert.equal(await app.has(), false);
        await claims.create(restores, `${type}-back`, { ...of, backupRef: `${type}-night` });
        await claims.ready(restores, `${type}-back`);
        await isThere(app);
        await claims.delete(restores, `${type}-back`);
        await claims.delete(backups, `${type}-night`);
      }
      await claims.delete(bindings, names[0]);
      await isShut(app, "the login of a deleted binding");
      assert.ok(await application(other).has(), "the other login stays");
      await claims.delete(bindings, names[1]);
      await claims.delete(instances, type);
      await assert.rejects(application(other).has(), "its server is gone");
      const { items } = await controlPlane.list<DynamicObject>(serviceInstances);
      assert.ok(items.every(({ metadata }) => metadata.labels?.[claimNameLabel] !== type));
      for (const name of names) await claims.gone(secrets, `${name}-creds`);
    });
});
