/** `docs/reference/kinds.md`: every field of every kind, from the schemas of its CustomResourceDefinition. */
import { isDeepStrictEqual } from "node:util";
import { recordAt, recordsAt, valueAt } from "@klutch/kube-core";
import { bindCrds, dataservicesGroup, namespacedDataservicesGroup, providerCrds } from "@klutch/api";
import { legacy, sharedXrdsOf } from "@klutch/services";
import { anchorOf } from "../docs/places.ts";
import { type FieldRow, fieldRows, printed, type Shape } from "./field-rows.ts";
import { codeWords, filled, table, rowsIn } from "./page.ts";

/** A kind as the page shows it. */
interface Kind {
  readonly title: string;
  readonly facts: readonly string[];
  readonly description: string;
  readonly schema: unknown;
  /** The kind that has nearly the same fields: only what differs from it is shown. */
  readonly like?: Kind | undefined;
}

/** The page, in Markdown. */
export function kindsPage(): string {
  const alone = [...bindCrds, ...providerCrds].map(crdKind);
  const sections = alone.map((kind) => ({ ...kind, like: likeOf(kind, alone) }));
  // Each data service has a page of its own.
  const claims = sharedXrdsOf(legacy).map(claimKind);
  const shapes = sharedShapes.map(({ title, samples: [schema] }) => {
    const others = sharedShapes.filter((shape) => shape.title !== title);
    return [anchorOf(title), fieldTable(fieldRows(schema, others)).join("\n")] as const;
  });
  const kinds = [...sections, ...claims].flatMap(kindSection).join("\n");
  return filled("tools/generate/kinds.md", { KINDS: kinds, ...Object.fromEntries(shapes) });
}

function crdKind({ spec }: { readonly spec: unknown }): Kind {
  const { group, names, scope, versions } = recordAt(spec);
  const { kind, plural, shortNames, categories } = recordAt(names);
  const [version] = recordsAt(versions);
  const schema = recordAt(version, "schema", "openAPIV3Schema");
  const columns = recordsAt(version, "additionalPrinterColumns").map(({ name }) => printed(name));
  return {
    title: `${printed(kind)} (${printed(group)}/${printed(version, "name")})`,
    facts: [
      `Resource \`${printed(plural)}\`, ${printed(scope).toLowerCase()}.`,
      ...(Array.isArray(shortNames) ? [`Short name \`${shortNames.join("`, `")}\`.`] : []),
      ...(Array.isArray(categories) ? [`Categories \`${categories.join("`, `")}\`.`] : []),
      ...(columns.length === 0 ? [] : [`Columns ${columns.join(", ")}.`]),
    ],
    description: printed(schema, "description"),
    schema,
  };
}

function claimKind({ spec }: { readonly spec: unknown }): Kind {
  const { group, names, claimNames, versions, defaultCompositionRef } = recordAt(spec);
  const [version] = recordsAt(versions);
  const schema = recordAt(version, "schema", "openAPIV3Schema");
  const claim = recordAt(claimNames);
  return {
    title: `${printed(claim, "kind")} (${printed(group)}/${printed(version, "name")}, claim)`,
    facts: [
      `Resource \`${printed(claim, "plural")}\`, namespaced; its composite is \`${printed(names, "kind")}\`, cluster.`,
      `Default Composition \`${printed(defaultCompositionRef, "name")}\`.`,
      "Crossplane adds its own fields to both.",
    ],
    description: "A claim of the shipped Configuration.",
    schema,
  };
}

/** The cluster-scoped kind of the provider beside a namespaced one. */
function likeOf({ title }: Kind, kinds: readonly Kind[]): Kind | undefined {
  if (!title.includes(namespacedDataservicesGroup)) return undefined;
  const wanted = title.replace(namespacedDataservicesGroup, dataservicesGroup).replace(/^Cluster/, "");
  return kinds.find((kind) => kind.title === wanted);
}

function kindSection({ title, facts, description, schema, like }: Kind): readonly string[] {
  const rows = fieldRows(schema, sharedShapes);
  const head = [`## ${title}`, "", `${description} ${facts.join(" ")}`, ""];
  if (like === undefined) return [...head, ...fieldTable(rows)];
  const others = fieldRows(like.schema, sharedShapes);
  const own = rows.filter((row) => !others.some((other) => isDeepStrictEqual(row, other)));
  const names = new Set(rows.map(([field]) => bare(field)));
  const missing = others.map(([field]) => bare(field)).filter((field) => !names.has(field));
  // Lists a missing field without the fields below it.
  const topmost = missing.filter((field) => !missing.some((other) => field.startsWith(`${other}.`)));
  return [
    ...head,
    [
      `Its fields are those of [${like.title}](#${anchorOf(like.title)})`,
      ...(topmost.length === 0 ? [] : [`without ${topmost.map((field) => `\`${field}\``).join(", ")}`]),
      ...(own.length === 0 ? [] : ["and with these"]),
    ].join(", ") + (own.length === 0 ? "." : ":"),
    "",
    ...(own.length === 0 ? [] : fieldTable(own)),
  ];
}

/** The path alone, without the marks of Markdown. */
function bare(field: string): string {
  return field.replaceAll(/[*`]/g, "");
}

function fieldTable(rows: readonly FieldRow[]): readonly string[] {
  return rows.length === 0 ? ["No fields of its own.", ""] : table(["field", "type", "meaning"], rows);
}

/** Returns the schema of a field of one of our own kinds: its resource, and the names that lead to the field. */
function schemaAt([plural, ...path]: readonly string[]): unknown {
  const crd = [...bindCrds, ...providerCrds].find(({ metadata }) => metadata.name.startsWith(`${plural}.`));
  const [version] = recordsAt(crd?.spec, "versions");
  const root: unknown = valueAt(version, "schema", "openAPIV3Schema");
  return path.reduce((schema, name) => {
    const record = recordAt(schema);
    return name === "[]" ? record["items"] : recordAt(record, "properties")[name];
  }, root);
}

const rows = rowsIn("tools/generate/shapes.md");

/** Shapes that several kinds share, or that are too long to be listed among a kind's own fields. The page has words for each. */
const sharedShapes: readonly Shape[] = rows.map(([title = "", fields = "", extra = ""]) => ({
  title,
  samples: codeWords(fields).map((field) => schemaAt(field.split("."))),
  extra: codeWords(extra),
}));
