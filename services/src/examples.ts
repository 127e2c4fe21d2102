/** Claims to start from, one file each. */
import { claimGroup } from "@klutch/api";
import { textAt } from "@klutch/kube-core";
import { claimResource, type DataService, type Making } from "./data-service.ts";
import { services } from "./list.ts";

/** An example as a file. */
export interface ExampleFile {
  /** Without the ending. */
  readonly name: string;
  /** Lines of the comment above the manifest. */
  readonly comment: readonly string[];
  readonly manifest: object;
}

function fileOf(
  name: string,
  comment: readonly string[],
  claim: { readonly kind: string; readonly name: string; readonly spec: object },
): ExampleFile {
  const metadata = { name: claim.name, namespace: "default" };
  return {
    name,
    comment,
    manifest: { apiVersion: `${claimGroup}/v1`, kind: claim.kind, metadata, spec: claim.spec },
  };
}

const needs = (kind: string): string => {
  const { plural, group } = claimResource(kind);
  return `Apply it in an app cluster that has bound \`${plural}.${group}\`.`;
};

/** Of one service: its instances, and for each way of making them a binding, a backup and a restore of the first example of it. */
export function examplesOf(service: DataService): readonly ExampleFile[] {
  const { kind, examples, type } = service;
  const instances = examples.map(({ file, about, ...claim }) =>
    fileOf(file, [`${about} ${needs(kind)}`], { kind, ...claim }),
  );
  const [first] = examples;
  const shared = first === undefined ? [] : sharedExamples({ type, prefix: type, instance: first.name });
  return [...instances, ...shared, ...service.others.flatMap((making) => otherExamples(service, making))];
}

/** Where bindings, backups and restores of such instances are made, too. */
function otherExamples(
  { type, examples }: DataService,
  { composition, object }: Making,
): readonly ExampleFile[] {
  const instance = examples.find(({ spec }) => nameAt(spec) === composition)?.name;
  if (instance === undefined || object?.binding === undefined) return [];
  const way = composition.slice(0, -`-${type}`.length);
  return sharedExamples({ type, prefix: `${type}-${way}`, instance, way });
}

const nameAt = (spec: object): string | undefined => textAt(spec, "compositionRef", "name");

function sharedExamples(options: {
  readonly type: string;
  /** Of the files' names. */
  readonly prefix: string;
  readonly instance: string;
  /** Names the Compositions of claims that must name one. */
  readonly way?: string | undefined;
}): readonly ExampleFile[] {
  const { type, prefix, instance, way } = options;
  const binding = `${instance}-app`;
  const backup = `${instance}-backup`;
  const made = (kind: string): object =>
    way === undefined ? {} : { compositionRef: { name: `${way}-${kind.toLowerCase()}` } };
  const ofInstance = { instanceRef: instance, serviceInstanceType: type };
  const arrives =
    way === undefined
      ? `They arrive as the Secret \`${binding}-creds\` in the same namespace.`
      : "They arrive in the same namespace, as the Secret that `status.managed.credentials.name` names.";
  return [
    fileOf(
      `${prefix}-binding`,
      [
        `Credentials for \`${instance}\`. ${arrives}`,
        `Needs \`servicebindings.${claimGroup}\` bound, with the permission claim on Secrets accepted.`,
      ],
      { kind: "ServiceBinding", name: binding, spec: { ...ofInstance, ...made("ServiceBinding") } },
    ),
    fileOf(`${prefix}-backup`, [`A backup of \`${instance}\`. ${needs("Backup")}`], {
      kind: "Backup",
      name: backup,
      spec: { ...ofInstance, ...made("Backup") },
    }),
    fileOf(
      `${prefix}-restore`,
      [
        `Puts \`${backup}\` back into \`${instance}\`, once: what was written since then is lost.`,
        needs("Restore"),
      ],
      {
        kind: "Restore",
        name: `${instance}-restore`,
        spec: { backupRef: backup, ...ofInstance, ...made("Restore") },
      },
    ),
  ];
}

/** All of them. */
export const exampleFiles: readonly ExampleFile[] = services.flatMap(examplesOf);
