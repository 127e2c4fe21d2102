/** Claims to start from, one file each. */
import { textAt } from "@klutch/kube-core";
import { claimResource, type DataService, type Making } from "./data-service.ts";
import { compositionName, type Generation } from "./generation.ts";
import { services } from "./list.ts";

/** An example as a file. */
export interface ExampleFile {
  /** File name without its extension. */
  readonly name: string;
  /** Lines of the comment above the manifest. */
  readonly comment: readonly string[];
  readonly manifest: object;
}

function fileOf(
  generation: Generation,
  name: string,
  comment: readonly string[],
  claim: { readonly kind: string; readonly name: string; readonly spec: ClaimSpec },
): ExampleFile {
  const metadata = { name: claim.name, namespace: "default" };
  return {
    name,
    comment,
    manifest: {
      apiVersion: `${generation.group}/v1`,
      kind: claim.kind,
      metadata,
      spec: specIn(generation, claim.spec),
    },
  };
}

type ClaimSpec = Readonly<Record<string, unknown>>;

/** The spec of a legacy claim, as a claim of the generation says the same. */
export function specIn(generation: Generation, spec: ClaimSpec): ClaimSpec {
  if (generation.name === "legacy") return spec;
  const { compositionRef, compositionSelector, ...own } = spec;
  const name = textAt(compositionRef, "name");
  const crossplane = {
    ...(compositionRef === undefined ? {} : { compositionRef }),
    ...(name === undefined ? {} : { compositionRef: { name: compositionName(generation, name) } }),
    ...(compositionSelector === undefined ? {} : { compositionSelector }),
  };
  return Object.keys(crossplane).length === 0 ? own : { ...own, crossplane };
}

const needs = (generation: Generation, kind: string): string => {
  const { plural, group } = claimResource(kind, generation);
  return `Apply it in an app cluster that has bound \`${plural}.${group}\`.`;
};

/** Returns the examples of one service: its instances, and for each way of making them a binding, a backup and a restore of the first one. */
export function examplesOf(generation: Generation, service: DataService): readonly ExampleFile[] {
  const { kind, examples, type, hasBackups } = service;
  const instances = examples.map(({ file, about, ...claim }) =>
    fileOf(generation, file, [`${about} ${needs(generation, kind)}`], { kind, ...claim }),
  );
  const [first] = examples;
  const shared =
    first === undefined
      ? []
      : sharedExamples({ generation, type, hasBackups, prefix: type, instance: first.name });
  return [
    ...instances,
    ...shared,
    ...service.others.flatMap((making) => otherExamples(generation, service, making)),
  ];
}

/** Returns the examples of bindings, backups and restores, if such instances have them. */
function otherExamples(
  generation: Generation,
  { type, examples, hasBackups }: DataService,
  { composition, object }: Making,
): readonly ExampleFile[] {
  const instance = examples.find(({ spec }) => nameAt(spec) === composition)?.name;
  if (instance === undefined || object?.binding === undefined) return [];
  const way = composition.slice(0, -`-${type}`.length);
  return sharedExamples({ generation, type, hasBackups, prefix: `${type}-${way}`, instance, way });
}

const nameAt = (spec: object): string | undefined => textAt(spec, "compositionRef", "name");

function sharedExamples(options: {
  readonly generation: Generation;
  readonly type: string;
  readonly hasBackups: boolean;
  /** Prefix of the files' names. */
  readonly prefix: string;
  readonly instance: string;
  /** Names the Compositions of claims that must name one. */
  readonly way?: string | undefined;
}): readonly ExampleFile[] {
  const { generation, type, hasBackups, prefix, instance, way } = options;
  const binding = `${instance}-app`;
  const backup = `${instance}-backup`;
  const made = (kind: string): object =>
    way === undefined ? {} : { compositionRef: { name: `${way}-${kind.toLowerCase()}` } };
  const ofInstance = { instanceRef: instance, serviceInstanceType: type };
  const arrives =
    way === undefined
      ? `They arrive as the Secret \`${binding}-creds\` in the same namespace.`
      : "They arrive in the same namespace, as the Secret that `status.managed.credentials.name` names.";
  const credentials = fileOf(
    generation,
    `${prefix}-binding`,
    [
      `Credentials for \`${instance}\`. ${arrives}`,
      `Needs \`servicebindings.${generation.group}\` bound, with the permission claim on Secrets accepted.`,
    ],
    { kind: "ServiceBinding", name: binding, spec: { ...ofInstance, ...made("ServiceBinding") } },
  );
  if (!hasBackups) return [credentials];
  return [
    credentials,
    fileOf(generation, `${prefix}-backup`, [`A backup of \`${instance}\`. ${needs(generation, "Backup")}`], {
      kind: "Backup",
      name: backup,
      spec: { ...ofInstance, ...made("Backup") },
    }),
    fileOf(
      generation,
      `${prefix}-restore`,
      [
        `Puts \`${backup}\` back into \`${instance}\`, once: what was written since then is lost.`,
        needs(generation, "Restore"),
      ],
      {
        kind: "Restore",
        name: `${instance}-restore`,
        spec: { backupRef: backup, ...ofInstance, ...made("Restore") },
      },
    ),
  ];
}

/** All of a generation. */
export function exampleFilesOf(generation: Generation): readonly ExampleFile[] {
  return services().flatMap((service) => examplesOf(generation, service));
}
