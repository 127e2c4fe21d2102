/** Prometheus, a server for each instance. Bindings of an instance read and write the same series, each with a login of its own. */
import { join } from "node:path";
import { hostInUrl, readIfThere, writeForServer } from "@klutch/data-servers";
import type { DebianPrograms } from "@klutch/engines";
import { bcrypt } from "./bcrypt.ts";
import { adminUser, type Place, type ServerKind, type ServerSpec, type Session } from "./driver.ts";
import { refuse, type ParameterChecks } from "./parameters.ts";

/** Files in the instance's folder. JSON is YAML, so that is what they are. */
const configFile = "prometheus.json";
const loginsFile = "logins.json";
const seriesFolder = "series";
/** Requests of the broker beside those of the plan. */
const ownConnections = 2;
const mostConfigs = 20;

/** Fields of a scrape configuration that read no file of this machine, find no targets elsewhere and forward no credentials. */
const harmless = new Set([
  "job_name",
  "static_configs",
  "metrics_path",
  "scheme",
  "scrape_interval",
  "scrape_timeout",
  "params",
  "honor_labels",
  "honor_timestamps",
]);

/** Parameters of an instance. `mapping_strict_match` is one of a Graphite exporter, which these instances lack. */
export const prometheusParameters: ParameterChecks = {
  scrape_configs(field, value) {
    if (!Array.isArray(value) || value.length > mostConfigs)
      throw refuse(field, value, `a list of at most ${mostConfigs} scrape configurations`);
    return value.map((each: unknown, index) => checkConfig(`${field}[${index}]`, each));
  },
};

function checkConfig(field: string, value: unknown): object {
  if (typeof value !== "object" || value === null || !("job_name" in value))
    throw refuse(field, value, "a scrape configuration with a job_name");
  const [other] = Object.keys(value).filter((name) => !harmless.has(name));
  if (other !== undefined) throw refuse(`${field}.${other}`, "set", `one of ${[...harmless].join(", ")}`);
  return value;
}

/** Returns the kind that runs these programs. */
export function prometheusKind(programs: DebianPrograms): ServerKind {
  return {
    type: "prometheus",
    program: "Prometheus",
    parameters: prometheusParameters,
    obstacle: "this broker makes no backups of Prometheus; write the series to a second server, too",
    initialise: () => Promise.resolve(),
    async launch(place, spec) {
      await writeForServer(join(place.home, configFile), configOf(spec));
      const logins = await readLogins(place);
      await writeLogins(place, { ...logins, [adminUser]: await bcrypt(place.adminPassword) });
      return {
        command: programs.path("prometheus"),
        args: flagsOf(place, spec),
        env: { ...programs.env, GOMEMLIMIT: `${spec.memoryMiB}MiB`, GOGC: "50" },
        ready: async () => (await fetch(`${ownUrl(place)}/-/ready`, { headers: adminOf(place) })).ok,
      };
    },
    open: (place) => Promise.resolve(sessionOf(place)),
    credentials({ port, reach }, { username, password }) {
      const url = `http://${hostInUrl(reach.host)}:${port}`;
      return { password, prometheus_urls: [url], username };
    },
  };
}

function configOf({ parameters }: ServerSpec): string {
  const scraped = parameters["scrape_configs"] ?? [];
  return JSON.stringify({ global: { scrape_interval: "15s" }, scrape_configs: scraped });
}

function flagsOf({ home, port, reach }: Place, spec: ServerSpec): readonly string[] {
  return [
    `--config.file=${join(home, configFile)}`,
    `--web.config.file=${join(home, loginsFile)}`,
    `--web.listen-address=${hostInUrl(reach.listen)}:${port}`,
    `--web.max-connections=${spec.connectionLimit + ownConnections}`,
    "--web.enable-remote-write-receiver",
    `--storage.tsdb.path=${seriesFolder}`,
    // The oldest series go when the disk of the plan is full.
    `--storage.tsdb.retention.size=${Math.floor(spec.diskMiB / 2)}MB`,
    `--query.max-samples=${spec.memoryMiB * 10_000}`,
    "--log.level=warn",
  ];
}

const ownUrl = ({ port, reach }: Place): string => `http://${hostInUrl(reach.listen)}:${port}`;

function adminOf({ adminPassword }: Place): Readonly<Record<string, string>> {
  return { authorization: `Basic ${btoa(`${adminUser}:${adminPassword}`)}` };
}

type Logins = Readonly<Record<string, string>>;

/** Returns the hashes of the passwords by login. */
async function readLogins({ home }: Place): Promise<Logins> {
  const content = (await readIfThere(join(home, loginsFile))) ?? '{"basic_auth_users":{}}';
  const { basic_auth_users: logins } = JSON.parse(content) as { readonly basic_auth_users: Logins };
  return logins;
}

/** Prometheus reads the file at each request, so a login is valid, or refused, at once. */
async function writeLogins({ home }: Place, logins: Logins): Promise<void> {
  await writeForServer(join(home, loginsFile), JSON.stringify({ basic_auth_users: logins }));
}

function sessionOf(place: Place): Session {
  return {
    run: () => Promise.reject(new Error("Prometheus has no commands")),
    async ensureLogin({ username, password }) {
      await writeLogins(place, { ...(await readLogins(place)), [username]: await bcrypt(password) });
    },
    async dropLogin(username) {
      const { [username]: _gone, ...others } = await readLogins(place);
      await writeLogins(place, others);
    },
    setFull: () => Promise.resolve(),
    dump: refuseBackups,
    fill: refuseBackups,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function refuseBackups(): Promise<never> {
  return Promise.reject(new Error("Prometheus has no backups"));
}
