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

/** Of one service: its instances, and a binding to the first of them. */
export function examplesOf({ type, kind, examples }: DataService): readonly ExampleFile[] {
  const { plural, group } = claimResource(kind);
  const needs = `Apply it in an app cluster that has bound \`${plural}.${group}\`.`;
  const instances = examples.map(({ file, about, ...claim }) =>
    fileOf(file, [`${about} ${needs}`], { kind, ...claim }),
  );
  const [first] = examples;
  if (first === undefined) return instances;
  const name = `${first.name}-app`;
  const comment = [
    `Credentials for \`${first.name}\`. They arrive as the Secret \`${name}-creds\` in the same namespace.`,
    `Needs \`servicebindings.${group}\` bound, with the permission claim on Secrets accepted.`,
  ];
  const spec = { instanceRef: first.name, serviceInstanceType: type };
  return [...instances, fileOf(`${type}-binding`, comment, { kind: "ServiceBinding", name, spec })];
}

/** All of them. */
export const exampleFiles: readonly ExampleFile[] = services.flatMap(examplesOf);
