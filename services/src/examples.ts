/** Claims to start from, one file each. */
import { claimGroup } from "@klutch/api";
import { claimResource, type DataService } from "./data-service.ts";
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

/** Of one service: its instances, and a binding, a backup and a restore of the first of them. */
export function examplesOf(service: DataService): readonly ExampleFile[] {
  const { kind, examples } = service;
  const instances = examples.map(({ file, about, ...claim }) =>
    fileOf(file, [`${about} ${needs(kind)}`], { kind, ...claim }),
  );
  const [first] = examples;
  return first === undefined ? instances : [...instances, ...sharedExamples(service, first.name)];
}

function sharedExamples({ type }: DataService, instance: string): readonly ExampleFile[] {
  const binding = `${instance}-app`;
  const backup = `${instance}-backup`;
  const ofInstance = { instanceRef: instance, serviceInstanceType: type };
  return [
    fileOf(
      `${type}-binding`,
      [
        `Credentials for \`${instance}\`. They arrive as the Secret \`${binding}-creds\` in the same namespace.`,
        `Needs \`servicebindings.${claimGroup}\` bound, with the permission claim on Secrets accepted.`,
      ],
      { kind: "ServiceBinding", name: binding, spec: ofInstance },
    ),
    fileOf(`${type}-backup`, [`A backup of \`${instance}\`. ${needs("Backup")}`], {
      kind: "Backup",
      name: backup,
      spec: ofInstance,
    }),
    fileOf(
      `${type}-restore`,
      [
        `Puts \`${backup}\` back into \`${instance}\`, once: what was written since then is lost.`,
        needs("Restore"),
      ],
      {
        kind: "Restore",
        name: `${instance}-restore`,
        spec: { backupRef: backup, instanceRef: instance, serviceInstanceType: type },
      },
    ),
  ];
}

/** All of them. */
export const exampleFiles: readonly ExampleFile[] = services.flatMap(examplesOf);
