/** Object storage with the API of S3: a server with one bucket for each instance. */
import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hostInUrl, makeServerFolder, readIfThere, writeOwn } from "@klutch/data-servers";
import { copyChanging, pack, unpack } from "./archive.ts";
import { serverProgram } from "./built-program.ts";
import { adminUser, type Place, type ServerKind, type ServerSpec, type Session } from "./driver.ts";
import * as check from "./parameters.ts";
import { callS3, type S3Account, type S3Call, S3Refusal } from "./s3-request.ts";

const defaultRegion = "us-east-1";
/** Folders and files in the server's own folder. */
const objectsFolder = "buckets";
const metadataFolder = "metadata";
const accountsFolder = "accounts";
/** Accounts are those of the bindings that exist now, and in no backup. */
const backedUp = [objectsFolder, metadataFolder];
const socketName = "socket";
/** Folder in a bucket for uploads that have not ended. */
const unfinished = ".sgwtmp";
/** Name in the instance's folder. */
const regionFile = "region";
/** Requests of the broker beside those of the plan. */
const ownRequests = 4;
/** Matches logins of bindings and no others. */
const loginName = /<Access>(u[0-9a-f]{32})<\/Access>/g;

/** Rights of a binding on its bucket and on the objects in it; none that change who has rights. */
const reading = ["GetObject", "GetObjectTagging", "GetObjectAttributes"];
const deleting = ["DeleteObject", "DeleteObjectTagging", "AbortMultipartUpload", "ListMultipartUploadParts"];
const writing = ["PutObject", "PutObjectTagging"];
const listing = ["ListBucket", "ListBucketMultipartUploads", "GetBucketLocation"];

/** Parameters of an instance. */
export const objectstorageParameters: check.ParameterChecks = {
  region: check.textLike(/^[a-z][a-z0-9-]{1,30}[a-z0-9]$/, "a name such as eu-central-1"),
  delete_objects: check.trueOrFalse,
};

/** Returns the kind whose program `obtain` finds, or builds when the first instance needs it. */
export function objectstorageKind(obtain: () => Promise<string>): ServerKind {
  return {
    type: "objectstorage",
    program: "object storage server",
    parameters: objectstorageParameters,
    async initialise({ data, home }, dump) {
      await serverProgram(await obtain(), home);
      for (const name of [...backedUp, accountsFolder]) await makeServerFolder(join(data, name));
      if (dump !== undefined) await unpack(data, dump);
    },
    async launch(place, spec) {
      const region = regionOf(spec);
      const inData = (name: string): string => join(place.data, name);
      await writeOwn(join(place.home, regionFile), region);
      return {
        command: await serverProgram(await obtain(), place.home),
        args: [
          ...flagsOf(place, spec, region),
          "posix",
          "--sidecar",
          inData(metadataFolder),
          inData(objectsFolder),
        ],
        env: { ROOT_ACCESS_KEY_ID: adminUser, ROOT_SECRET_ACCESS_KEY: place.adminPassword },
        ready: async () => (await callerOf(place, region))({ method: "GET", path: "/" }).then(() => true),
      };
    },
    open: async (place, spec) => open(place, await callerOf(place, regionOf(spec))),
    async credentials({ database: bucket, home, port, reach }, { username, password }, authority) {
      const region = (await readIfThere(join(home, regionFile))) ?? defaultRegion;
      const endpoint = `https://${hostInUrl(reach.host)}:${port}`;
      return { accessKey: username, bucket, cacrt: authority, endpoint, region, secretKey: password };
    },
    async whyKept({ data, database: bucket }, { parameters }) {
      if (parameters["delete_objects"] === true) return undefined;
      const count = await objectsIn(join(data, objectsFolder, bucket));
      if (count === 0) return undefined;
      const objects = count === 1 ? "1 object" : `${count} objects`;
      return `its bucket has ${objects}; delete them, or set the parameter delete_objects (deleteObjects of a claim) to true`;
    },
  };
}

function regionOf({ parameters }: ServerSpec): string {
  return String(parameters["region"] ?? defaultRegion);
}

function flagsOf({ data, port, reach, tls }: Place, spec: ServerSpec, region: string): readonly string[] {
  const listen = port === undefined ? [] : ["--port", `${hostInUrl(reach.listen)}:${port}`];
  // The server goes to the folder of the objects before it listens, and the path of a socket must be short.
  const ports = ["--port", `../${socketName}`, ...listen];
  const tlsFiles = ["--cert", tls.certificate, "--key", tls.key];
  // Without a cache, a key is refused at once when its binding is gone.
  const accounts = ["--iam-dir", join(data, accountsFolder), "--iam-cache-disable"];
  const limit = ["--max-requests", String(spec.connectionLimit + ownRequests)];
  return [...ports, ...tlsFiles, ...accounts, ...limit, "--region", region, "--quiet"];
}

type Caller = (call: S3Call) => Promise<string>;

/** Returns requests of the broker's own account. */
async function callerOf(place: Place, region: string): Promise<Caller> {
  const account: S3Account = {
    folder: place.data,
    socket: socketName,
    authority: await readFile(place.tls.authority, "utf8"),
    region,
    accessKey: adminUser,
    secretKey: place.adminPassword,
  };
  return (call) => callS3(account, call, new Date());
}

/** Makes the bucket, and gives each binding its rights again. */
async function open({ data, database: bucket, home }: Place, call: Caller): Promise<Session> {
  let isFull = false;
  const align = async (full: boolean = isFull): Promise<void> => {
    const users = await call({ method: "PATCH", path: "/list-users" });
    const names = [...users.matchAll(loginName)].map(([, name = ""]) => name);
    const query = { policy: "" };
    if (names.length === 0) await call({ method: "DELETE", path: `/${bucket}`, query });
    else await call({ method: "PUT", path: `/${bucket}`, query, body: policyOf(bucket, names, full) });
  };
  await call({ method: "PUT", path: `/${bucket}` }).catch(expecting("BucketAlreadyOwnedByYou"));
  await align();
  const dropUser = (access: string): Promise<unknown> =>
    call({ method: "PATCH", path: "/delete-user", query: { access } });
  return {
    run: () => Promise.reject(new Error("an object storage server has no commands")),
    async ensureLogin({ username, password }) {
      const user = `<Access>${username}</Access><Secret>${password}</Secret><Role>user</Role>`;
      const body = `<Account>${user}<UserID>0</UserID><GroupID>0</GroupID></Account>`;
      await call({ method: "PATCH", path: "/create-user", body }).catch(expecting("XAdminUserExists"));
      await align();
    },
    async dropLogin(username) {
      await dropUser(username).catch(expecting("XAdminUserNotFound"));
      await align();
    },
    async setFull(full) {
      if (full === isFull) return;
      await align(full);
      // Only now: if the server does not answer, the next measurement tells it again.
      isFull = full;
    },
    async dump(to, signal) {
      const copy = async (folder: string): Promise<void> => {
        for (const name of backedUp) await copyChanging(join(data, name), join(folder, name), unfinished);
      };
      await pack(home, copy, to, signal);
    },
    // The server started on the objects of the dump.
    fill: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Returns a handler that passes over one answer of the server. */
function expecting(code: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof S3Refusal) || error.code !== code) throw error;
  };
}

/** Returns the policy of a bucket. While the disk is full, bindings may read and delete only. */
function policyOf(bucket: string, users: readonly string[], isFull: boolean): string {
  const allow = (names: readonly string[], resource: string): object => ({
    Effect: "Allow",
    Principal: { AWS: users },
    Action: names.map((name) => `s3:${name}`),
    Resource: resource,
  });
  const onObjects = [...reading, ...deleting, ...(isFull ? [] : writing)];
  const bucketName = `arn:aws:s3:::${bucket}`;
  const statements = [allow(listing, bucketName), allow(onObjects, `${bucketName}/*`)];
  return JSON.stringify({ Version: "2012-10-17", Statement: statements });
}

/** Counts the objects below a folder; an object whose key ends with a slash is an empty folder. */
async function objectsIn(folder: string): Promise<number> {
  const parents = new Set<string>();
  const entries = new Set<string>();
  for await (const entry of glob("**/*", { cwd: folder, exclude: (name) => name === unfinished })) {
    entries.add(entry);
    parents.add(dirname(entry));
  }
  return [...entries].filter((entry) => !parents.has(entry)).length;
}
