/** Which images there are. */
import { generations, packagesOf } from "@klutch/services";
import type { ServerName } from "./server-sets.ts";

/** A program of ours in an image. */
export interface ProgramDefinition {
  /** Folder below `apps`. */
  readonly app: string;
  /** Database servers beside it, lowest layer first. */
  readonly servers?: readonly ServerName[];
  /** Environment that a container of it has from the image. */
  readonly env?: Readonly<Record<string, string>>;
}

/** An image of ours; what Crossplane installs is one, too. */
export interface ImageDefinition {
  /** Of its folder in the release. */
  readonly name: string;
  /** Folder of the release that it is in. */
  readonly folder: "images" | "packages";
  /** Path below the registry. */
  readonly repository: string;
  readonly description: string;
  /** Missing in a package that brings no program. */
  readonly program?: ProgramDefinition;
  /** The YAML stream that makes a Crossplane package of it, its metadata first. */
  readonly documents?: readonly unknown[];
}

/** In which these programs keep what must outlive them. It is to be a volume. */
export const dataFolder = "/var/lib/klutch-broker";

const plainImages: readonly ImageDefinition[] = [
  {
    name: "konnector",
    folder: "images",
    repository: "klutch/konnector",
    description: "The agent of an app cluster: claims go to the control plane, status and Secrets come back.",
    program: { app: "konnector" },
  },
  {
    name: "backend",
    folder: "images",
    repository: "klutch/backend",
    description: "Logins, the binding page, and the controllers of the control plane.",
    program: { app: "backend" },
  },
  {
    name: "broker",
    folder: "images",
    repository: "klutch/broker",
    description: "A service broker for trying Klutch out, with its PostgreSQL, MariaDB and Redis servers.",
    program: {
      app: "broker",
      servers: ["postgresql", "mariadb", "redis"],
      env: {
        BROKER_LISTEN: "0.0.0.0:8080",
        BROKER_PROBE_LISTEN: "0.0.0.0:8081",
        BROKER_POSTGRES_FOLDER: `${dataFolder}/postgres`,
        BROKER_DATA_FOLDER: `${dataFolder}/servers`,
        BROKER_BACKUP_FOLDER: `${dataFolder}/backups`,
      },
    },
  },
  {
    name: "a8s-operator",
    folder: "images",
    repository: "klutch/a8s-operator",
    description: "PostgreSQL servers from the kinds of a8s, for trying Klutch out.",
    program: { app: "a8s-operator", servers: ["postgresql"] },
  },
];

/** Programs and words of the packages, by their repository's last part. */
const packagePrograms: Readonly<Record<string, Pick<ImageDefinition, "description" | "program">>> = {
  "provider-anynines": {
    description: "The Crossplane provider of service brokers and backup managers, with its program.",
    program: { app: "provider-anynines" },
  },
  "function-klutch": {
    description: "The composition function of the data services, with its program.",
    program: { app: "function-klutch" },
  },
  "configuration-dataservices": {
    description: "The data services as claims of cluster-scoped composites.",
  },
  "configuration-dataservices-namespaced": {
    description: "The data services as namespaced composites.",
  },
};

/** All of them, for releases that live in `registry`: the Configurations name it. */
export function imageDefinitions(registry: string): readonly ImageDefinition[] {
  const packages = packagesOf(generations, registry).map(({ repository, documents }): ImageDefinition => {
    const name = repository.slice(repository.lastIndexOf("/") + 1);
    const words = packagePrograms[name];
    if (words === undefined) throw new Error(`the package ${name} is not described in the list of images`);
    return { name, folder: "packages", repository, documents, ...words };
  });
  return [...plainImages, ...packages];
}
