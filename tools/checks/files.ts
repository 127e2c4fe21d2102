/** The rules about single files: length, words that may not stand in one, and the manifests of the workspaces. */
import type { Check } from "./check.ts";
import { isHandWritten, type SourceFile } from "./source-files.ts";

/** The longest that a file may be, in lines. */
export const longestFile = 400;

const isText = (path: string): boolean => !/\.(png|sum)$|package-lock\.json$/.test(path);
const isManifest = (path: string): boolean =>
  /^(packages\/[^/]+|services|apps\/[^/]+)\/package\.json$/.test(path);

export const fileChecks: readonly Check[] = [
  {
    name: "length",
    rule: `no hand-written source file is longer than ${longestFile} lines`,
    advice: "find the second idea in the file and give it a file of its own",
    find: ({ files }) => tooLong(files(isHandWritten)),
  },
  {
    name: "hosts",
    rule: "no file names a package registry's host or an absolute path of a developer's machine",
    advice: "take the host from the tool's own configuration, and paths from the repository's root",
    find: ({ files }) => namingMachines(files(isText)),
  },
  {
    name: "registries",
    rule: "no file names a foreign registry of images, which could serve anything under our version",
    advice: "name artefacts by artefact() of packages/api/src/release.ts",
    find: ({ files }) => namingRegistries(files(isText)),
  },
  {
    name: "markers",
    rule: "unfinished work is written down in docs/known-limits.md, not in the code",
    advice: "finish it, or describe the limit in docs/known-limits.md",
    find: ({ files }) => marked(files(isHandWritten)),
  },
  {
    name: "manifests",
    rule: "every workspace has the repository's version, licence and a description of what it is",
    advice: "add the field to its package.json as the other workspaces have it",
    find: ({ files }) => incompleteManifests(files(isManifest)),
  },
];

/** Files with more than {@link longestFile} lines. */
export function tooLong(files: readonly SourceFile[]): readonly string[] {
  return files
    .map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .filter(({ lines }) => lines > longestFile)
    .map(({ path, lines }) => `${path}: ${lines} lines`);
}

// Written in pieces, so that this file passes its own check.
const machineWords = [
  ["registry", "npmjs", "org"].join("."),
  ["proxy", "golang", "org"].join("."),
  ["deb", "debian", "org"].join("."),
  ["repo1", "maven", "org"].join("."),
  ["pypi", "org"].join("."),
  `/${["work", "main"].join("/")}`,
  `/${["root", "go"].join("/")}`,
  `/${["tmp", "eng"].join("/")}`,
];

/** Files that name a registry's host or a path of one machine. */
export function namingMachines(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    machineWords.filter((word) => text.includes(word)).map((word) => `${path}: ${word}`),
  );
}

// In pieces, too.
const registryWords = [
  ["public", "ecr", "aws"],
  ["docker", "io"],
  ["ghcr", "io"],
  ["quay", "io"],
  ["gcr", "io"],
  ["registry", "k8s", "io"],
  ["xpkg", "crossplane", "io"],
  ["xpkg", "upbound", "io"],
  ["mcr", "microsoft", "com"],
].map((pieces) => pieces.join("."));

/** Files that name a public registry of images. */
export function namingRegistries(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    registryWords.filter((word) => text.includes(`${word}/`)).map((word) => `${path}: ${word}`),
  );
}

const marker = new RegExp(
  `\\b(${["TO", "DO"].join("")}|${["FIX", "ME"].join("")}|${["XX", "X"].join("")})\\b`,
);

/** Files with a marker of unfinished work. */
export function marked(files: readonly SourceFile[]): readonly string[] {
  return files.filter(({ text }) => marker.test(text)).map(({ path }) => path);
}

/** Manifests of workspaces that lack a field or have another value than the repository's. */
export function incompleteManifests(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const manifest: unknown = JSON.parse(text);
    const fields = new Map<string, unknown>(Object.entries(manifest ?? {}));
    const wrong: string[] = [];
    if (fields.get("version") !== "0.1.0") wrong.push("version");
    if (fields.get("license") !== "Apache-2.0") wrong.push("license");
    if (typeof fields.get("description") !== "string") wrong.push("description");
    return wrong.map((field) => `${path}: ${field}`);
  });
}
