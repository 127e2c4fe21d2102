/** Lists the images of a release. */
import type { ArtefactName, Registry } from "@klutch/api";
import { generations, packagesOf } from "@klutch/services";
import type { ServerName } from "./server-sets.ts";

/** A program of ours in an image. */
export interface ProgramDefinition {
  /** Name of the app, which `bundleApp` takes. */
  readonly app: string;
  /** Database servers beside it, lowest layer first. */
  readonly servers?: readonly ServerName[];
  /** True if the pages of the console lie beside it. */
  readonly console?: true;
  /** Environment that a container of it has from the image. */
  readonly env?: Readonly<Record<string, string>>;
}

/** An image of ours; what Crossplane installs is one, too. */
export interface ImageDefinition {
  /** Below the registry, and of its folder in the release. */
  readonly name: ArtefactName;
  /** Folder of the release that it is in. */
  readonly folder: "images" | "packages";
  readonly description: string;
  /** Missing in a package that brings no program. */
  readonly program?: ProgramDefinition | undefined;
  /** The YAML stream that makes a Crossplane package of it, its metadata first. */
  readonly documents?: readonly unknown[] | undefined;
}

/** Folder of the data that must outlive these programs. It is to be a volume. */
export const dataFolder = "/var/lib/klutch-broker";

const brokerEnv = {
  BROKER_LISTEN: "0.0.0.0:8080",
  BROKER_PROBE_LISTEN: "0.0.0.0:8081",
  BROKER_POSTGRES_FOLDER: `${dataFolder}/postgres`,
  BROKER_DATA_FOLDER: `${dataFolder}/servers`,
  BROKER_BACKUP_FOLDER: `${dataFolder}/backups`,
};

/** Words and program of each image, in the order of the release. */
const images: Readonly<
  Record<Exclude<ArtefactName, `charts/${string}`>, readonly [string, program?: ProgramDefinition]>
> = {
  konnector: [
    "The agent of an app cluster: claims go to the control plane, status and Secrets come back.",
    { app: "konnector" },
  ],
  backend: [
    "Logins, the binding page, and the controllers of the control plane.",
    { app: "backend", console: true },
  ],
  broker: [
    "A service broker for trying Klutch out, with its PostgreSQL, MariaDB and Redis servers.",
    { app: "broker", servers: ["postgresql", "mariadb", "redis"], env: brokerEnv },
  ],
  "a8s-operator": [
    "PostgreSQL servers from the kinds of a8s, for trying Klutch out.",
    { app: "a8s-operator", servers: ["postgresql"] },
  ],
  "function-klutch": [
    "The composition function of the data services, with its program.",
    { app: "function-klutch" },
  ],
  "provider-anynines": [
    "The Crossplane provider of service brokers and backup managers, with its program.",
    { app: "provider-anynines" },
  ],
  "configuration-dataservices": ["The data services as claims of cluster-scoped composites."],
  "configuration-dataservices-namespaced": ["The data services as namespaced composites."],
};

/** All of them, for releases that live in `registry`: the Configurations name it. */
export function imageDefinitions(registry: Registry): readonly ImageDefinition[] {
  const packages = packagesOf(generations, registry);
  return (Object.keys(images) as (keyof typeof images)[]).map((name) => {
    const [description, program] = images[name];
    const documents = packages.find(({ artefactName }) => artefactName === name)?.documents;
    return { name, folder: documents === undefined ? "images" : "packages", description, program, documents };
  });
}
