/** Object storage as applications see it, with Amazon's own client, which shares no line with the broker's requests. */
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { after, test } from "node:test";
import * as s3 from "@aws-sdk/client-s3";
import { waitFor } from "@klutch/kube-testing";
import { damaged, dump, restore } from "../testing/dumps.ts";
import { type Bucket, bucketOf, textsOf } from "../testing/applications.ts";
import { bindingOf, instanceOf, openFolder, pidIn, serversIn } from "../testing/servers.ts";
import type { Parameters } from "./parameters.ts";

const folder = await openFolder();
const servers = await serversIn(folder.path, { diskEveryMs: 200 });
after(async () => {
  await servers[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const { objectstorage } = servers;
const plan = "objectstorage-nano";

/** Makes an instance and one binding. */
async function made(name: string, parameters: Parameters = {}) {
  const instance = instanceOf(name, plan, parameters);
  await objectstorage.ensure(instance);
  const binding = bindingOf(instance, `${name}-1`);
  return { instance, binding, credentials: await objectstorage.bind(binding, instance) };
}

const refused =
  (name: string) =>
  (error: unknown): boolean => {
    assert.equal(error instanceof Error && error.name, name);
    return true;
  };

test("a binding has the keys that SDKs take, and its objects live through a crash of the server", async () => {
  const { credentials, instance, binding } = await made("keys", { region: "eu-central-1" });
  const keys = ["accessKey", "bucket", "cacrt", "endpoint", "region", "secretKey"];
  assert.deepEqual(Object.keys(credentials).toSorted(), keys);
  assert.equal(credentials["region"], "eu-central-1");
  assert.deepEqual(await objectstorage.bind(binding, instance), credentials, "binding again");
  assert.deepEqual(await objectstorage.credentials(binding), credentials);
  using app = bucketOf(credentials);
  await app.put("a/grüße .txt", "Hello");
  assert.equal(await app.get("a/grüße .txt"), "Hello");
  assert.deepEqual(await app.list(), ["a/grüße .txt"]);
  process.kill(await pidIn(objectstorage.homeOf("keys")), "SIGKILL");
  await waitFor("the server", async () => (await app.get("a/grüße .txt").catch(() => "")) === "Hello");
});

test("a large object in parts, with Amazon's client", async () => {
  using app = bucketOf((await made("parts")).credentials);
  const { client, Bucket } = app;
  const part = { Bucket, Key: "large" };
  const { UploadId } = await client.send(new s3.CreateMultipartUploadCommand(part));
  const Parts: s3.CompletedPart[] = [];
  for (const PartNumber of [1, 2]) {
    const Body = Buffer.alloc(5 * 1024 * 1024, PartNumber);
    const { ETag } = await client.send(new s3.UploadPartCommand({ ...part, UploadId, PartNumber, Body }));
    Parts.push({ PartNumber, ETag });
  }
  await client.send(new s3.CompleteMultipartUploadCommand({ ...part, UploadId, MultipartUpload: { Parts } }));
  const { ContentLength } = await client.send(new s3.HeadObjectCommand(part));
  assert.equal(ContentLength, 10 * 1024 * 1024);
});

test("two bindings have their own keys and share the bucket; a key ends with its binding and no other does", async () => {
  const { instance, binding, credentials } = await made("pair");
  const second = await objectstorage.bind(bindingOf(instance, "pair-2"), instance);
  assert.notEqual(second["accessKey"], credentials["accessKey"]);
  assert.notEqual(second["secretKey"], credentials["secretKey"]);
  using one = bucketOf(credentials);
  using two = bucketOf(second);
  await one.put("shared", "1");
  assert.equal(await two.get("shared"), "1");
  await objectstorage.unbind(binding);
  await assert.rejects(one.get("shared"), refused("InvalidAccessKeyId"));
  assert.equal(await two.get("shared"), "1");
  await objectstorage.unbind(binding);
});

test("a binding reaches no other bucket, and makes neither buckets nor rights", async () => {
  const [mine, other] = [await made("mine"), await made("other")];
  using app = bucketOf(mine.credentials);
  using theirs = bucketOf(other.credentials);
  await theirs.put("secret", "x");
  // At the other instance's server, the key does not exist, whatever it signs.
  using intruder = bucketOf(mine.credentials, { endpoint: String(other.credentials["endpoint"]) });
  await assert.rejects(intruder.get("secret", theirs.Bucket), refused("InvalidAccessKeyId"));
  await assert.rejects(intruder.list(theirs.Bucket), refused("InvalidAccessKeyId"));
  await assert.rejects(app.get("secret", theirs.Bucket), refused("NoSuchBucket"));
  // A key of the other side with the secret of ours.
  using liar = bucketOf({ ...other.credentials, secretKey: mine.credentials["secretKey"] });
  await assert.rejects(liar.get("secret"), refused("SignatureDoesNotMatch"));
  await assert.rejects(
    app.client.send(new s3.CreateBucketCommand({ Bucket: "another" })),
    refused("AccessDenied"),
  );
  const Policy = JSON.stringify({
    Statement: [{ Effect: "Allow", Principal: "*", Action: "s3:*", Resource: `arn:aws:s3:::${app.Bucket}` }],
  });
  for (const command of [
    new s3.PutBucketPolicyCommand({ Bucket: app.Bucket, Policy }),
    new s3.PutBucketAclCommand({ Bucket: app.Bucket, ACL: "public-read" }),
  ])
    await assert.rejects(app.client.send(command as s3.PutBucketAclCommand), refused("AccessDenied"));
  await assert.rejects(
    app.client.send(new s3.DeleteBucketCommand({ Bucket: app.Bucket })),
    refused("AccessDenied"),
  );
});

test("without a key, or by the broker's calls, a binding gets nothing", async () => {
  const { credentials } = await made("closed");
  const { endpoint = "", bucket = "", cacrt: ca = "", accessKey = "" } = textsOf(credentials);
  const ask = async (method: string, path: string): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const sent = request(`${endpoint}${path}`, { method, ca, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on("error", reject).end();
    return promise;
  };
  for (const [method, path] of [
    ["GET", `/${bucket}`],
    ["PATCH", "/list-users"],
    ["PATCH", `/delete-user?access=${accessKey}`],
  ] as const)
    assert.equal(await ask(method, path), 403, path);
  await assert.rejects(fetch(endpoint.replace("https:", "http:")));
});

test("a full bucket takes no more objects and can be emptied", async () => {
  const { instance, credentials } = await made("full");
  using app = bucketOf(credentials);
  await app.put("a", "1");
  const server = objectstorage.serverOf("full");
  await server.use((session) => session.setFull(true));
  await assert.rejects(app.put("b", "2"), refused("AccessDenied"));
  // A binding that is made meanwhile gets the same rights.
  using late = bucketOf(await objectstorage.bind(bindingOf(instance, "full-2"), instance));
  await assert.rejects(late.put("b", "2"), refused("AccessDenied"));
  assert.equal(await late.get("a"), "1");
  await app.remove("a");
  await server.use((session) => session.setFull(false));
  await app.put("b", "2");
});

test("objects that are larger than the plan fill the bucket", async () => {
  using app = bucketOf((await made("large")).credentials);
  const piece = Buffer.alloc(32 * 1024 * 1024, 1);
  let pieces = 0;
  await waitFor("a refusal", async () => {
    const error: unknown = await app.put(`piece-${pieces++ % 10}`, piece).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return error instanceof Error && error.name === "AccessDenied";
  });
  for (const key of await app.list()) await app.remove(String(key));
  await waitFor("room", () =>
    app.put("small", "1").then(
      () => true,
      () => false,
    ),
  );
});

test("an instance with objects is not dropped, goes on, and is dropped when it is empty", async () => {
  const { instance, binding, credentials } = await made("kept");
  using app = bucketOf(credentials);
  for (const key of ["a/.hidden", "b", "empty/"]) await app.put(key, "");
  await assert.rejects(
    objectstorage.drop(instance),
    /^Error: instance kept is kept: its bucket has 3 objects; delete them, or set the parameter delete_objects \(deleteObjects of a claim\) to true$/,
  );
  assert.equal(await app.get("b"), "");
  await app.remove("a/.hidden");
  await app.remove("empty/");
  await assert.rejects(objectstorage.drop(instance), /its bucket has 1 object;/);
  await app.remove("b");
  await objectstorage.drop(instance);
  await assert.rejects(stat(objectstorage.homeOf("kept")), { code: "ENOENT" });
  await assert.rejects(pidIn(objectstorage.homeOf("kept")), /no server works in/);
  await objectstorage.unbind(binding);
});

test("an upload that never ended keeps nothing", async () => {
  const { instance, credentials } = await made("begun");
  using app = bucketOf(credentials);
  await app.client.send(new s3.CreateMultipartUploadCommand({ Bucket: app.Bucket, Key: "never" }));
  await objectstorage.drop(instance);
  await assert.rejects(stat(objectstorage.homeOf("begun")), { code: "ENOENT" });
});

test("delete_objects drops an instance with its objects, and leaves nothing", async () => {
  const { instance, credentials } = await made("forced");
  using app = bucketOf(credentials);
  await app.put("a", "1");
  const forced = { ...instance, parameters: { delete_objects: true } };
  await objectstorage.ensure({ ...forced, operation: "update" });
  assert.equal(await app.get("a"), "1");
  await objectstorage.drop(forced);
  const home = objectstorage.homeOf("forced");
  await assert.rejects(stat(home), { code: "ENOENT" });
  await assert.rejects(app.get("a"));
});

/** Returns each object with its content, type, own metadata and tags, as an application reads them. */
async function contentOf({ client, Bucket, list }: Bucket): Promise<object> {
  const content: Record<string, unknown> = {};
  for (const Key of await list()) {
    const { Body, ContentType, Metadata, ETag } = await client.send(new s3.GetObjectCommand({ Bucket, Key }));
    const { TagSet } = await client.send(new s3.GetObjectTaggingCommand({ Bucket, Key }));
    content[String(Key)] = [await Body?.transformToString(), ContentType, Metadata, ETag, TagSet];
  }
  return content;
}

test("a restore brings back exactly what was backed up, once; keys stay, and removed ones stay away", async () => {
  const { instance, binding, credentials } = await made("back");
  using beside = bucketOf((await made("beside")).credentials);
  await beside.put("a", "of another instance");
  const leaver = bindingOf(instance, "back-2");
  using left = bucketOf(await objectstorage.bind(leaver, instance));
  using app = bucketOf(credentials);
  const { client, Bucket } = app;
  const about = { ContentType: "text/x-own", Metadata: { colour: "blue" }, Tagging: "team=a" };
  await client.send(new s3.PutObjectCommand({ Bucket, Key: "deep/er/grüße .txt", Body: "Hello", ...about }));
  const longKey = ["l".repeat(200), "o".repeat(200), "ng"].join("/");
  for (const key of ["a", "empty/", ".hidden", longKey]) await app.put(key, key === "empty/" ? "" : key);
  await client.send(new s3.CreateMultipartUploadCommand({ Bucket, Key: "never" }));
  const before = await contentOf(app);
  assert.equal(Object.keys(before).length, 5);
  const whole = await dump(objectstorage, instance);
  await app.remove("deep/er/grüße .txt");
  await app.remove("empty/");
  await app.put("a", "another content");
  await app.put("newer/one", "1");
  await objectstorage.unbind(leaver);
  const options = { token: "token-1", bindings: [binding] };
  await restore(objectstorage, instance, whole, options);
  assert.deepEqual(await objectstorage.credentials(binding), credentials);
  assert.deepEqual(await contentOf(app), before);
  const { Uploads = [] } = await client.send(new s3.ListMultipartUploadsCommand({ Bucket }));
  assert.deepEqual(Uploads, []);
  await assert.rejects(left.get("a"), refused("InvalidAccessKeyId"));
  assert.equal(await beside.get("a"), "of another instance");
  await app.put("after", "1");
  await restore(objectstorage, instance, whole, options);
  process.kill(await pidIn(objectstorage.homeOf("back")), "SIGKILL");
  await waitFor("the server", async () => (await app.get("after").catch(() => "")) === "1");
  assert.equal(await app.get("a"), "a");
});

test("a backup that is made while objects come, change and go has whole objects, and each that was at rest", async () => {
  const { instance, binding, credentials } = await made("busy");
  using app = bucketOf(credentials);
  const body = (step: number): string => String(step).repeat(100_000);
  for (let index = 0; index < 20; index++) await app.put(`rest/${index}`, `${index}`);
  let isOver = false;
  const writing = (async () => {
    for (let step = 0; !isOver; step = (step + 1) % 10) {
      await app.put(`moving/${step}`, body(step));
      await app.remove(`moving/${(step + 5) % 10}`);
    }
  })();
  const dumps: Buffer[] = [];
  for (let count = 0; count < 3; count++) dumps.push(await dump(objectstorage, instance));
  isOver = true;
  await writing;
  for (const [index, whole] of dumps.entries()) {
    await restore(objectstorage, instance, whole, { token: `busy-${index}`, bindings: [binding] });
    const keys = (await app.list()).map(String);
    assert.equal(keys.filter((key) => key.startsWith("rest/")).length, 20);
    for (const key of keys.filter((each) => each.startsWith("moving/")))
      assert.equal(await app.get(key), body(Number(key.slice("moving/".length))));
  }
});

test("a damaged backup is refused with words, and changes nothing", async () => {
  const { instance, credentials } = await made("damaged");
  using app = bucketOf(credentials);
  await app.put("a", "1");
  const whole = await dump(objectstorage, instance);
  await app.put("newer", "2");
  for (const [token, lie] of damaged(whole)) {
    await assert.rejects(
      restore(objectstorage, instance, lie, { token }),
      /the backup cannot be unpacked: .*tar/,
    );
    assert.deepEqual(await app.list(), ["a", "newer"], token);
  }
  const names = await readdir(objectstorage.homeOf("damaged"));
  assert.deepEqual(
    names.filter((name) => /^(?:data-|dump|fill)/.test(name)),
    ["data-first"],
  );
});

test("no log contains a key", async () => {
  const { credentials } = await made("quiet");
  using app = bucketOf(credentials);
  await app.put("a", "1");
  using wrong = bucketOf({ ...credentials, secretKey: "wrong" });
  await assert.rejects(wrong.get("a"), refused("SignatureDoesNotMatch"));
  const home = objectstorage.homeOf("quiet");
  assert.ok((await readdir(home)).includes("server.log"));
  const log = await readFile(join(home, "server.log"), "utf8");
  assert.ok(
    !log.includes(String(credentials["secretKey"])) && !log.includes(String(credentials["accessKey"])),
  );
});
