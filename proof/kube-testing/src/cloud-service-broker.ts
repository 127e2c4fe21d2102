/** Cloud Foundry's Cloud Service Broker as a process: a broker that is not ours, whose services OpenTofu makes. */
import { randomBytes } from "node:crypto";
import { cp, link, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { reservePorts, resolveEngine, run, startProcess } from "@klutch/engines";

/** Options of `startCloudServiceBroker`. */
export interface CloudServiceBrokerOptions {
  /** Folder of a brokerpak's sources. Its manifest takes OpenTofu from `./tofu`. */
  readonly brokerpak: string;
  /** Folder for its files, which exists. */
  readonly folder: string;
  /** Added to its environment; a brokerpak names those that OpenTofu receives. */
  readonly env: Readonly<Record<string, string>>;
}

/** A broker that runs. */
export interface CloudServiceBroker extends AsyncDisposable {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** File of its database, of SQLite. */
  readonly database: string;
}

/** Packs the brokerpak and serves it, with schemas of parameters in its catalog. Disposing it kills the process: it would wait for its operations. */
export async function startCloudServiceBroker(
  options: CloudServiceBrokerOptions,
): Promise<CloudServiceBroker> {
  await using stack = new AsyncDisposableStack();
  const { ports } = stack.use(await reservePorts(1));
  const program = await resolveEngine("cloud-service-broker");
  const folder = join(options.folder, "cloud-service-broker");
  const sources = join(folder, "sources");
  await mkdir(sources, { recursive: true });
  await cp(options.brokerpak, sources, { recursive: true });
  const tofu = await resolveEngine("opentofu");
  await link(tofu, join(folder, "tofu")).catch(() => cp(tofu, join(folder, "tofu")));
  const env = { ...options.env, HOME: folder, PAK_BUILD_CACHE_PATH: join(folder, "cache") };
  const build = ["pak", "build", "--target=current", "--compress=false", sources];
  await run(program, build, { cwd: folder, env: { ...process.env, ...env } });
  const paks = (await readdir(folder)).filter((name) => name.endsWith(".brokerpak"));
  if (paks.length !== 1) throw new Error(`the brokerpak was not made: ${paks.join(", ")}`);
  const [username, password] = ["klutch", randomBytes(12).toString("hex")];
  const url = `http://127.0.0.1:${ports[0]}`;
  const database = join(folder, "broker.sqlite");
  const running = await startProcess({
    name: "cloud-service-broker",
    command: program,
    args: ["serve"],
    // It takes the brokerpaks of the folder in which it starts.
    cwd: folder,
    env: {
      ...env,
      CSB_LISTENER_HOST: "127.0.0.1",
      PORT: String(ports[0]),
      DB_TYPE: "sqlite3",
      DB_PATH: database,
      SECURITY_USER_NAME: username,
      SECURITY_USER_PASSWORD: password,
      GSB_COMPATIBILITY_ENABLE_CATALOG_SCHEMAS: "true",
    },
    logFile: join(folder, "cloud-service-broker.log"),
    ready: async () => (await fetch(`${url}/ready`)).ok,
  });
  stack.defer(() => running.kill());
  const owned = stack.move();
  return { url, username, password, database, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
