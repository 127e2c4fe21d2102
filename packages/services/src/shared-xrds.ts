/** The composites and claims that all data services share. */
import { integer, object, oneOf, type Rule, type Schema, string } from "@klutch/schema";
import { readyReasonColumn, textColumn } from "./columns.ts";
import { keepsNamedComposition } from "./composition-rules.ts";
import { chosenName, compositionName, type Generation, hasChoice } from "./generation.ts";
import { telling } from "./rule-text.ts";
import { serviceTypePattern } from "./table/file-schema.ts";
import { acceptsIncomplete, type CompositeResourceDefinition, immutable, xrd } from "./xrd.ts";

/** Any service may be added to a control plane; in app clusters the backend narrows it to those that are offered. */
const serviceInstanceType = string({
  maxLength: 30,
  pattern: serviceTypePattern,
  description: "Type of the instance's data service, such as postgresql. It cannot be changed.",
  rules: [immutable("ServiceInstanceType")],
});

/** Name of another claim in the same namespace. */
function nameOf(description: string, rules?: readonly Rule[]): Schema<string> {
  return string({ maxLength: 253, pattern: "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", description, rules });
}

const typeColumn = textColumn("Service", ".spec.serviceInstanceType");
const instanceColumn = textColumn("Instance", ".spec.instanceRef");
const aboutInstance = "Name of the instance's claim in the same namespace. It cannot be changed.";

/** CEL: whether the claim names another Composition or none. */
function isNotMadeBy(generation: Generation, composition: string): string {
  return `!${hasChoice(generation, "compositionRef")} || ${chosenName(generation)} != '${composition}'`;
}

/** The Compositions of databases in the cluster serve one type. */
function onlyPostgresql(generation: Generation, byLegacy: string): Rule {
  const composition = compositionName(generation, byLegacy);
  return telling(
    {
      rule: `${isNotMadeBy(generation, composition)} || self.serviceInstanceType == 'postgresql'`,
      message: "Selected service instance type is not supported.",
      fieldPath: ".serviceInstanceType",
    },
    `spec.serviceInstanceType is "{self.serviceInstanceType}"; with the Composition ${composition} it must be "postgresql"`,
  );
}

function needsInstance(generation: Generation): Rule {
  return telling(
    {
      rule: `${isNotMadeBy(generation, compositionName(generation, "a8s-restore"))} || has(self.instanceRef)`,
      message: "restores without instance ref are not supported for a8s",
      fieldPath: ".instanceRef",
    },
    "spec.instanceRef must name the instance that was backed up",
  );
}

const instanceWords = (of: string): string =>
  `{has(${of}.instanceRef) ? '"' + ${of}.instanceRef + '"' : 'unset'}`;

/** A rule of the spec, for it also holds when the field comes or goes. */
const instanceStays: Rule = telling(
  {
    rule:
      "has(self.instanceRef) == has(oldSelf.instanceRef) && " +
      "(!has(self.instanceRef) || self.instanceRef == oldSelf.instanceRef)",
    message: "InstanceRef is an immutable field",
    fieldPath: ".instanceRef",
  },
  `it is ${instanceWords("oldSelf")} and cannot become ${instanceWords("self")}`,
);

/** Operators in the cluster make credentials once. */
function rotatesAtBrokers(generation: Generation): Rule {
  const composition = compositionName(generation, "a8s-servicebinding");
  return telling(
    {
      rule: `!has(self.rotate) || ${isNotMadeBy(generation, composition)}`,
      message: `rotate is not supported for ${composition}`,
      fieldPath: ".rotate",
    },
    "remove it",
  );
}

const unused = "Without effect. Existing manifests may have it.";

/** Returns the XRD of bindings to any service. */
function serviceBindingXrd(generation: Generation): CompositeResourceDefinition {
  return xrd(generation, {
    kind: "ServiceBinding",
    about: "Credentials of a data service instance, in a Secret.",
    composition: "a9s-servicebinding",
    columns: [
      typeColumn,
      instanceColumn,
      textColumn("Secret", ".status.managed.credentials.name"),
      readyReasonColumn,
    ],
    spec: object(
      { instanceRef: nameOf(aboutInstance, [immutable("InstanceRef")]), serviceInstanceType },
      {
        acceptsIncomplete,
        region: oneOf(["eu-central-1", "us-east-1"], { description: unused }),
        policy: string({ description: unused }),
        rotate: string({
          maxLength: 64,
          pattern: "^[A-Za-z0-9]([-A-Za-z0-9_.:+]*[A-Za-z0-9])?$",
          description:
            "Any text, such as a date. A change of it asks for new credentials, which come to the same Secret.",
        }),
        rotateGraceSeconds: integer({
          minimum: 0,
          maximum: 604_800,
          description:
            "How long credentials work after they were replaced. Default 3600; 0 ends them at once.",
        }),
      },
      {
        description:
          "Which instance gets credentials. They come to the Secret that `status.managed.credentials.name` names: <name>-creds of a broker, and of an operator in the cluster the Secret that it makes.",
        rules: [
          onlyPostgresql(generation, "a8s-servicebinding"),
          rotatesAtBrokers(generation),
          keepsNamedComposition(generation),
        ],
      },
    ),
  });
}

/** Returns the XRD of backups of any service's instances. */
function backupXrd(generation: Generation): CompositeResourceDefinition {
  return xrd(generation, {
    kind: "Backup",
    about: "A backup of a data service instance.",
    composition: "a9s-backup",
    columns: [typeColumn, instanceColumn, textColumn("State", ".status.managed.status"), readyReasonColumn],
    spec: object(
      {
        instanceRef: nameOf(aboutInstance, [immutable("InstanceRef")]),
        serviceInstanceType,
      },
      {},
      {
        description: "Which instance is backed up, once. Deleting the claim deletes the backup.",
        rules: [onlyPostgresql(generation, "a8s-backup"), keepsNamedComposition(generation)],
      },
    ),
  });
}

/** Returns the XRD of restores of such backups. */
function restoreXrd(generation: Generation): CompositeResourceDefinition {
  return xrd(generation, {
    kind: "Restore",
    about: "The data of a backup, put back into its instance once.",
    composition: "a9s-restore",
    columns: [
      typeColumn,
      textColumn("Backup", ".spec.backupRef"),
      textColumn("State", ".status.managed.state"),
      readyReasonColumn,
    ],
    spec: object(
      {
        backupRef: nameOf("Name of the Backup in the same namespace. It cannot be changed.", [
          immutable("BackupRef"),
        ]),
        serviceInstanceType,
      },
      {
        instanceRef: nameOf(
          "Name of the claim of the instance that was backed up; another one is refused. It cannot be changed.",
        ),
      },
      {
        description:
          "Which backup is put back into the instance that it was made of, once. What was written since then is lost.",
        rules: [
          onlyPostgresql(generation, "a8s-restore"),
          needsInstance(generation),
          instanceStays,
          keepsNamedComposition(generation),
        ],
      },
    ),
  });
}

/** All of a generation. */
export function sharedXrdsOf(generation: Generation): readonly CompositeResourceDefinition[] {
  return [serviceBindingXrd(generation), backupXrd(generation), restoreXrd(generation)];
}
