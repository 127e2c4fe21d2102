/** Lists the images of a release. */
import { type ArtefactName, packageArtefacts, type Registry } from "@klutch/api";
import { generations, packagesOf } from "@klutch/services";
import type { ServerName } from "./server-sets.ts";

/** A program of ours in an image. */
export interface ProgramDefinition {
  /** Name of the app, which `bundleApp` takes. */
  readonly app: string;
  /** Database servers beside it, lowest layer first. */
  readonly servers?: readonly ServerName[];
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
  readonly program?: ProgramDefinition;
  /** The YAML stream that makes a Crossplane package of it, its metadata first. */
  readonly documents?: readonly unknown[];
}

/** Folder of the data that must outlive these programs. It is to be a volume. */
export const dataFolder = "/var/lib/klutch-broker";

const plainImages: readonly ImageDefinition[] = [
  {
    name: "konnector",
    folder: "images",
    description: "The agent of an app cluster: claims go to the control plane, status and Secrets come back.",
    program: { app: "konnector" },
  },
  {
    name: "backend",
    folder: "images",
    description: "Logins, the binding page, and the controllers of the control plane.",
    program: { app: "backend" },
  },
  {
    name: "broker",
    folder: "images",
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
    description: "PostgreSQL servers from the kinds of a8s, for trying Klutch out.",
    program: { app: "a8s-operator", servers: ["postgresql"] },
  },
];

/** Programs and words of the packages. */
const packagePrograms: Readonly<
  Partial<Record<ArtefactName, Pick<ImageDefinition, "description" | "program">>>
> = {
  [packageArtefacts.provider]: {
    description: "The Crossplane provider of service brokers and backup managers, with its program.",
    program: { app: "provider-anynines" },
  },
  [packageArtefacts.function]: {
    description: "The composition function of the data services, with its program.",
    program: { app: "function-klutch" },
  },
  [packageArtefacts.configuration]: {
    description: "The data services as claims of cluster-scoped composites.",
  },
  [packageArtefacts.namespacedConfiguration]: {
    description: "The data services as namespaced composites.",
  },
};

/** All of them, for releases that live in `registry`: the Configurations name it. */
export function imageDefinitions(registry: Registry): readonly ImageDefinition[] {
  const packages = packagesOf(generations, registry).map(({ artefactName, documents }): ImageDefinition => {
    const words = packagePrograms[artefactName];
    if (words === undefined) throw new Error(`${artefactName} is not described in the list of images`);
    return { name: artefactName, folder: "packages", documents, ...words };
  });
  return [...plainImages, ...packages];
}
