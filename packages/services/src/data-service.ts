/** Describes one data service. Its XRD, Composition, export template, examples and page follow from it. */
import type { ResourceType } from "@klutch/kube-core";
import type { JsonSchema, PrinterColumn, Rule } from "@klutch/schema";
import type { ComposedParameter } from "./composed-service.ts";
import { compositionName, type Generation, legacy } from "./generation.ts";
import type { Price } from "./prices/price.ts";
import type { ObjectBackend } from "./table/object-table.ts";
import type { ConnectionSource, Takes } from "./table/service-table.ts";

/** A field of a claim's spec or of its parameters. */
export interface Field {
  readonly json: JsonSchema;
}

/** Choices of the claims that select one way of making instances. */
export interface Making {
  /** Name of the table's backend. Compositions are named after it. */
  readonly backend: string;
  /** Name of its Composition. */
  readonly composition: string;
  /** Allowed values of a claim's `spec.service`. */
  readonly offerings: readonly string[];
  /** Allowed values of a claim's `spec.plan`. */
  readonly plans: readonly string[];
  /** Plans that existing instances keep and that no one can choose. */
  readonly retiredPlans: readonly string[];
  /** Purpose and price of a plan, by its name; empty if not described. */
  readonly plansAbout: Readonly<Record<string, string>>;
  /** Prices of plans, by their names. */
  readonly prices: Readonly<Record<string, Price>>;
  /** Rules between offering, plan and the previous plan. Known names are always checked. */
  readonly rules: readonly Rule[];
  /** Parameters in the order of printing. */
  readonly parameters: readonly ComposedParameter[];
  /** Paths of fields of a claim's spec that it does not have, such as `parameters.workMem`: refused by name. */
  readonly refused: readonly string[];
  /** Usual duration of operations; for messages only. */
  readonly takes?: Takes | undefined;
  /** Recipe for making it in the cluster; undefined if a broker makes it. */
  readonly object?: ObjectBackend | undefined;
}

/** A claim to start from. */
export interface Example {
  /** Name of its file, without the ending. */
  readonly file: string;
  /** Description in one sentence. */
  readonly about: string;
  /** `metadata.name`. */
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** All particulars of one data service, and the default way of making its instances. */
export interface DataService extends Making {
  /** `serviceInstanceType` of its bindings. Its Compositions, ProviderConfig and the function's input are named after it. */
  readonly type: string;
  /** Product name. */
  readonly title: string;
  /** Description in a few sentences. */
  readonly about: string;
  /** Kind of the claim. */
  readonly kind: string;
  /** The other ways. */
  readonly others: readonly Making[];
  /** Claims may name Compositions that none of these is; the rules of services, plans and parameters are not for them. */
  readonly otherCompositions: boolean;
  /** False: app clusters cannot make a Backup of its instances. */
  readonly hasBackups: boolean;
  /** Description of the parameters. */
  readonly parametersAbout: string;
  /** Parameters of all backends. */
  readonly parameterSchemas: readonly (Field & { readonly name: string })[];
  /** True when `fields` has `region`, the choice among brokers; false when the table has a field of that name, or no broker. */
  readonly takesRegion: boolean;
  /** Further fields of a claim's spec. */
  readonly fields?: Readonly<Record<string, Field>> | undefined;
  /** Further columns of `kubectl get`. */
  readonly columns?: readonly PrinterColumn[] | undefined;
  /** Keys of a binding's Secret. A broker may send more. */
  readonly credentialKeys: readonly string[];
  /** Address fields of the credentials, for the status of a binding. */
  readonly connection: readonly ConnectionSource[];
  /** Examples of instances. An example of a binding to the first one is added. */
  readonly examples: readonly Example[];
}

/** The resource that claims of a kind of the Configuration are served as. */
export function claimResource(kind: string, { group }: Generation = legacy): ResourceType {
  return { group, version: "v1", plural: `${kind.toLowerCase()}s`, kind, namespaced: true };
}

/** The service as a generation offers it. */
export function serviceIn(generation: Generation, service: DataService): DataService {
  const making = <T extends Making>(one: T): T => ({
    ...one,
    composition: compositionName(generation, one.composition),
  });
  return { ...making(service), others: service.others.map(making) };
}

/** Returns the former name of a service's instances in the function's input; accepted for one release. */
export function functionResource({ type }: DataService): string {
  return `${type}-instance`;
}

const brokerSuffix = "-service-broker";
const backupSuffix = "-backup-manager";

/** Name of the ProviderConfig with the broker of a type of data service. */
export function providerConfigName(type: string): string {
  return `${type}${brokerSuffix}`;
}

/** Name of the ProviderConfig with the backup manager of a type of data service. */
export function backupConfigName(type: string): string {
  return `${type}${backupSuffix}`;
}

/** The type whose broker or backup manager a ProviderConfig of this name describes. */
export function typeOfProviderConfig(name: string): string {
  const suffix = [brokerSuffix, backupSuffix].find((one) => name.endsWith(one));
  return suffix === undefined ? name : name.slice(0, -suffix.length);
}
