/** Claims to start from, one file each. */
import { textAt } from "@klutch/kube-core";
import { claimResource, type DataService } from "./data-service.ts";
import { compositionName, type Generation } from "./generation.ts";
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

/** Of one service: its instances, and a binding, a backup and a restore of the first of them. */
export function examplesOf(generation: Generation, service: DataService): readonly ExampleFile[] {
  const { kind, examples } = service;
  const instances = examples.map(({ file, about, ...claim }) =>
    fileOf(generation, file, [`${about} ${needs(generation, kind)}`], { kind, ...claim }),
  );
  const [first] = examples;
  return first === undefined ? instances : [...instances, ...sharedExamples(generation, service, first.name)];
}

function sharedExamples(
  generation: Generation,
  { type }: DataService,
  instance: string,
): readonly ExampleFile[] {
  const binding = `${instance}-app`;
  const backup = `${instance}-backup`;
  const ofInstance = { instanceRef: instance, serviceInstanceType: type };
  return [
    fileOf(
      generation,
      `${type}-binding`,
      [
        `Credentials for \`${instance}\`. They arrive as the Secret \`${binding}-creds\` in the same namespace.`,
        `Needs \`servicebindings.${generation.group}\` bound, with the permission claim on Secrets accepted.`,
      ],
      { kind: "ServiceBinding", name: binding, spec: ofInstance },
    ),
    fileOf(generation, `${type}-backup`, [`A backup of \`${instance}\`. ${needs(generation, "Backup")}`], {
      kind: "Backup",
      name: backup,
      spec: ofInstance,
    }),
    fileOf(
      generation,
      `${type}-restore`,
      [
        `Puts \`${backup}\` back into \`${instance}\`, once: what was written since then is lost.`,
        needs(generation, "Restore"),
      ],
      {
        kind: "Restore",
        name: `${instance}-restore`,
        spec: { backupRef: backup, instanceRef: instance, serviceInstanceType: type },
      },
    ),
  ];
}

/** All of a generation. */
export function exampleFilesOf(generation: Generation): readonly ExampleFile[] {
  return services.flatMap((service) => examplesOf(generation, service));
}
