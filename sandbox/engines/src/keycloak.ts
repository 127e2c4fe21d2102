/** Keycloak from its distribution in Maven's repository, as a process with a database in memory. Needs Java 17 and Maven. */
import { randomBytes } from "node:crypto";
import { mkdtempDisposable, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder } from "./environment.ts";
import { makeWhole } from "./file-lock.ts";
import { requireDigest } from "./kept-files.ts";
import { preparing } from "./prepare.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import type { ObtainOptions } from "./resolve.ts";

/** Version of the distribution. */
export const keycloakVersion = "26.4.0";
const archiveSha512 =
  "49affb5fcd0f3473b38ac30b2997400079d73dff4b6693645bd501d78554c1092526ddfcd4fc2f13d1ce334eef4e758baf7351ddabf65aaca85d814fba0969cf";

const prepare = preparing(`keycloak ${keycloakVersion}`);

/** A server that runs. */
export interface KeycloakServer extends AsyncDisposable {
  /** URL without a slash at the end. */
  readonly url: string;
  /** Credentials of the temporary administrator. */
  readonly admin: { readonly username: string; readonly password: string };
  readonly process: RunningProcess;
  /** Calls the Admin REST API; `path` follows `/admin/realms`. Throws with the answer if it is a refusal. */
  callAdmin(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Asks the token endpoint of a realm. Throws with the answer if it is a refusal. */
  requestToken(realm: string, fields: Readonly<Record<string, string>>): Promise<unknown>;
}

/** Folder of the distribution, prepared for a database in memory. Obtained once into the cache. Throws `EngineError`. */
export async function resolveKeycloak(options: Pick<ObtainOptions, "progress"> = {}): Promise<string> {
  const target = join(cacheFolder, "keycloak", `${keycloakVersion}-${archiveSha512.slice(0, 12)}`);
  await makeWhole([target], { lock: `${target}.mutex` }, async (partials) => {
    const [partial = ""] = partials.values();
    options.progress?.(`keycloak ${keycloakVersion}: fetching and preparing it (about a minute) …`);
    await prepare("Maven", "mvn", [
      "--quiet",
      "--batch-mode",
      "dependency:copy",
      `-Dartifact=org.keycloak:keycloak-quarkus-dist:${keycloakVersion}:zip`,
      `-DoutputDirectory=${partial}`,
    ]);
    const file = join(partial, `keycloak-quarkus-dist-${keycloakVersion}.zip`);
    await requireDigest(file, { algorithm: "sha512", hex: archiveSha512 }, "is pinned");
    await prepare("the JDK", "jar", ["--extract", "--file", file], partial);
    await rm(file);
    const unpacked = join(partial, `keycloak-${keycloakVersion}`);
    for (const name of await readdir(unpacked)) await rename(join(unpacked, name), join(partial, name));
    await rm(unpacked, { recursive: true });
    await prepare("Java 17", "/bin/sh", [join(partial, "bin", "kc.sh"), "build", "--db=dev-mem"]);
  });
  return target;
}

/** Starts a server on this port of loopback without any realm but its own. What it holds is gone when it ends. */
export async function startKeycloak(port: number): Promise<KeycloakServer> {
  await using stack = new AsyncDisposableStack();
  const home = await resolveKeycloak();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-keycloak-"))).path;
  const admin = { username: "admin", password: randomBytes(16).toString("hex") };
  const url = `http://127.0.0.1:${port}`;
  const server = stack.use(
    await startProcess({
      name: "keycloak",
      command: "/bin/sh",
      args: [
        join(home, "bin", "kc.sh"),
        "start",
        "--optimized",
        "--cache=local",
        "--http-enabled=true",
        "--http-host=127.0.0.1",
        `--http-port=${port}`,
        "--hostname-strict=false",
      ],
      env: {
        KC_BOOTSTRAP_ADMIN_USERNAME: admin.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
        JAVA_OPTS_KC_HEAP: "-Xmx512m",
      },
      logFile: join(folder, "keycloak.log"),
      ready: async () => (await fetch(`${url}/realms/master`)).ok,
      readyTimeoutMs: 360_000,
      // Keycloak waits for open requests; their answers are not needed.
      stopTimeoutMs: 2_000,
    }),
  );
  return Object.assign(stack.move(), {
    url,
    admin,
    process: server,
    callAdmin: (method: string, path: string, body?: unknown) =>
      callAdmin({ url, admin }, method, path, body),
    requestToken: (realm: string, fields: Readonly<Record<string, string>>) =>
      requestToken(url, realm, fields),
  });
}

async function callAdmin(
  { url, admin }: Pick<KeycloakServer, "url" | "admin">,
  method: string,
  path: string,
  body: unknown,
): Promise<unknown> {
  const credentials = { client_id: "admin-cli", grant_type: "password", ...admin };
  const { access_token: token } = (await requestToken(url, "master", credentials)) as {
    readonly access_token: string;
  };
  return answerOf(
    await fetch(`${url}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
}

async function requestToken(
  url: string,
  realm: string,
  fields: Readonly<Record<string, string>>,
): Promise<unknown> {
  return answerOf(
    await fetch(`${url}/realms/${realm}/protocol/openid-connect/token`, {
      method: "POST",
      body: new URLSearchParams(fields),
    }),
  );
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
