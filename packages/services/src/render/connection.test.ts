import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { services } from "../list.ts";
import { connectionDetails } from "./connection.ts";

/** Secrets of bindings, as far as they say where the service is; the values are like those of real brokers. */
const secrets: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  postgresql: { host: "pg.example.org", port: "5432", uri: "postgresql://u:s3cret@pg.example.org:5432/db" },
  mariadb: { host: "m.example.org", port: "3306" },
  keyvalue: { host: "k.example.org", "valkey.port": "6379", "valkey.password": "s3cret" },
  search: { host: "[https://s.example.org:9200]", username: "u", password: "s3cret" },
  logme2: {
    host: "https://l.example.org:9200",
    syslog_drain_url: "syslog-tls://u:s3cret@l.example.org:6514",
  },
  mongodb: { hosts: "[a.example.org:27017 b.example.org:27017]", uri: "mongodb://u:s3cret@a.example.org" },
  prometheus: {
    prometheus_urls: "[http://u:s3cret@p.example.org:9090]",
    alertmanager_urls: "[http://p.example.org:9093]",
    grafana_urls: "[https://g.example.org]",
    graphite_exporters: "[p.example.org]",
    graphite_exporter_port: "9109",
  },
  objectstorage: { endpoint: "https://u:s3cret@o.example.org:20001", accessKey: "u", secretKey: "s3cret" },
  messaging: {
    http_api_uri: "https://u:s3cret@r.example.org:15671/api/",
    "protocols.amqp_ssl.uri": "amqps://u:s3cret@r.example.org:5671/vhost",
    "protocols.management.uri": "https://u:s3cret@r.example.org:15671",
  },
};

const expected: Readonly<Record<string, readonly string[]>> = {
  postgresql: ["SQL pg.example.org 5432"],
  mariadb: ["SQL m.example.org 3306"],
  keyvalue: ["KeyValue k.example.org 6379"],
  search: ["Search https://s.example.org 9200"],
  logme2: ["Logme2 https://l.example.org 9200"],
  mongodb: ["MongoDB a.example.org 27017", "MongoDB b.example.org 27017"],
  prometheus: [
    "Prometheus http://p.example.org 9090",
    "Alertmanager http://p.example.org 9093",
    "Grafana https://g.example.org 443",
    "Graphite Exporter p.example.org 9109",
  ],
  objectstorage: ["S3 https://o.example.org 20001"],
  messaging: [
    "HTTP API https://r.example.org 15671",
    "AMQP SSL amqps://r.example.org 5671",
    "Management https://r.example.org 15671",
  ],
};

for (const { type, title, connection } of services())
  test(`a binding to ${title} says where it is, without secrets`, () => {
    const found = connectionDetails(connection, secrets[type] ?? {});
    assert.deepEqual(
      found.map(({ label, hostURL, port }) => `${label} ${hostURL} ${port}`),
      expected[type],
    );
  });

test("whatever a broker calls a place, no user or password of a URL is shown, and nothing throws", () => {
  const piece = fc.constantFrom(
    "https://",
    "user:s3cret@",
    "host",
    ":",
    "123",
    "[",
    "]",
    " ",
    "/",
    "?",
    "#",
    "s3cret@",
    "\n",
  );
  const forms = fc.constantFrom("host", "url", "address");
  fc.assert(
    fc.property(forms, fc.array(piece, { maxLength: 8 }), (form, parts) => {
      const value = parts.join("");
      const details = connectionDetails([{ label: "x", from: "a", form, port: "b" }], { a: value, b: "1" });
      assert.doesNotMatch(JSON.stringify(details), /s3cret/);
    }),
    { numRuns: 5_000 },
  );
});
