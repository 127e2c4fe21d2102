import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect, createServer } from "node:tls";
import { openAuthority, tlsFilesIn } from "@klutch/data-servers";
import { systemClock } from "@klutch/kube";
import { VirtualClock, waitFor, writeSecretVolume } from "@klutch/kube-testing";
import { createMetrics } from "@klutch/telemetry";
import { certificateFollower } from "./certificate-follower.ts";
import { readServedCertificate } from "./served-certificate.ts";
import { type LogLine, recordingLogger } from "./testing/recording-logger.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const home = await mkdtemp(join(tmpdir(), "klutch-certificates-"));
stack.defer(() => rm(home, { recursive: true, force: true }));
const now = (): Date => new Date(systemClock.now());
const authority = await openAuthority(join(home, "authority"), { name: "authority", now });

type Pair = Readonly<Record<"tls.crt" | "tls.key", string>>;

let issued = 0;
async function pair(): Promise<Pair> {
  const folder = join(home, `issued-${issued++}`);
  await mkdir(folder);
  await authority.issue(folder);
  const paths = tlsFilesIn(folder);
  const [cert, key] = await Promise.all([readFile(paths.certificate, "utf8"), readFile(paths.key, "utf8")]);
  return { "tls.crt": cert, "tls.key": key };
}

/** A TLS server whose certificate is followed, and the volume that it comes from. */
class Followed implements AsyncDisposable {
  readonly folder: string;
  readonly log: LogLine[] = [];
  readonly #clock: VirtualClock;
  readonly #metrics = createMetrics();
  readonly #abort = new AbortController();
  readonly #server = createServer((socket) => socket.end());
  #following: Promise<void> = Promise.resolve();

  constructor(folder: string, clock = new VirtualClock()) {
    this.folder = folder;
    this.#clock = clock;
  }

  static async start(first: Pair): Promise<Followed> {
    const followed = new Followed(await mkdtemp(join(home, "volume-")));
    await writeSecretVolume(followed.folder, first);
    await followed.#listen();
    return followed;
  }

  async #listen(): Promise<void> {
    const { folder } = this;
    const files = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key") };
    const certificate = await readServedCertificate(files);
    const take = ({ cert, key }: typeof certificate): void =>
      this.#server.setSecureContext({ cert, key: key.reveal() });
    take(certificate);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    const runtime = { logger: recordingLogger(this.log), metrics: this.#metrics, clock: this.#clock };
    this.#following = certificateFollower(runtime)(certificate, take, this.#abort);
  }

  /** The next look at the files has happened when it resolves. */
  async look(): Promise<void> {
    const before = await this.count("certwatcher_read_certificate_total");
    await this.#clock.advance(10_000);
    const isWaiting = (): boolean => this.#clock.nextDueAt !== undefined;
    await waitFor(
      "the look",
      async () => isWaiting() && (await this.count("certwatcher_read_certificate_total")) > before,
    );
  }

  async count(metric: string): Promise<number> {
    const [, value] = new RegExp(`^${metric} (\\S+)$`, "m").exec(await this.#metrics.text()) ?? [];
    return Number(value);
  }

  /** Serial number of the certificate presented to a client that trusts only the authority. */
  async shown(): Promise<string> {
    const address = this.#server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect({ host: "127.0.0.1", port, ca: authority.certificate }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.end();
    });
    socket.on("error", reject);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#following;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }
}

const errors = "certwatcher_read_certificate_errors_total";

test("a Secret's volume that is swapped by a symbolic link is served from the next look on", async () => {
  await using followed = await Followed.start(await pair());
  const before = await followed.shown();
  await followed.look();
  assert.equal(await followed.shown(), before);
  await writeSecretVolume(followed.folder, await pair());
  await followed.look();
  const renewed = await followed.shown();
  assert.notEqual(renewed, before);
  await followed.look();
  assert.equal(await followed.shown(), renewed);
  assert.deepEqual(
    followed.log.map(({ level, message }) => [level, message]),
    [["info", "serving a renewed certificate"]],
  );
  assert.equal(await followed.count(errors), 0);
  const ends = await followed.count("klutch_served_certificate_expiration_timestamp_seconds");
  assert.ok(ends > systemClock.now() / 1000);
});

const [good, other] = [await pair(), await pair()];
const half = (pem: string): string => pem.slice(0, pem.length / 2);
const unfit: readonly (readonly [what: string, files: Pair, reason: RegExp])[] = [
  [
    "a certificate with another's key",
    { ...good, "tls.key": other["tls.key"] },
    /tls\.key is not the key of/,
  ],
  ["a certificate that is cut off", { ...good, "tls.crt": half(good["tls.crt"]) }, /tls\.crt must have cert/],
  [
    "a chain whose end is cut off",
    { ...good, "tls.crt": good["tls.crt"] + half(authority.certificate) },
    /tls\.crt must have cert.* none of them cut off/,
  ],
  [
    "a key that is cut off",
    { ...good, "tls.key": half(good["tls.key"]) },
    /tls\.key must have a private key/,
  ],
  ["empty files", { "tls.crt": "", "tls.key": "" }, /tls\.crt must have certificates/],
];

for (const [what, files, reason] of unfit) {
  test(`the certificate stays while its files are ${what}, and is renewed afterwards`, async () => {
    await using followed = await Followed.start(await pair());
    const before = await followed.shown();
    await writeSecretVolume(followed.folder, files);
    await followed.look();
    await followed.look();
    assert.equal(await followed.shown(), before);
    assert.equal(await followed.count(errors), 2);
    const warnings = followed.log.filter(({ level }) => level === "warn");
    assert.equal(warnings.length, 1);
    assert.match(String(warnings[0]?.fields["reason"]), reason);
    const [, secret = ""] = good["tls.key"].split("\n");
    assert.ok(!JSON.stringify(followed.log).includes(secret.slice(0, 20)));
    await writeSecretVolume(followed.folder, other);
    await followed.look();
    assert.notEqual(await followed.shown(), before);
    assert.equal(await followed.count(errors), 2);
  });
}

test("files that are copied one after the other, or gone for a while, are taken when they are whole", async () => {
  await using followed = await Followed.start(await pair());
  const before = await followed.shown();
  await rm(join(followed.folder, "tls.crt"));
  await followed.look();
  assert.equal(await followed.shown(), before);
  assert.match(String(followed.log.at(-1)?.fields["reason"]), /tls\.crt cannot be read/);
  await writeFile(join(followed.folder, "tls.crt"), good["tls.crt"]);
  await followed.look();
  assert.match(String(followed.log.at(-1)?.fields["reason"]), /tls\.key is not the key of/);
  await writeFile(join(followed.folder, "tls.key"), good["tls.key"]);
  await followed.look();
  assert.notEqual(await followed.shown(), before);
});
