/** Names the registry of releases, its artefacts, and references to them. */
import { klutchVersion } from "./versions.ts";

declare const checked: unique symbol;

/** `host[:port][/path]` that was checked by `parseRegistry`. */
export type Registry = string & { readonly [checked]: "Registry" };

/** Name of an artefact of a release, below the registry. */
export type ArtefactName =
  | "konnector"
  | "backend"
  | "broker"
  | "a8s-operator"
  | "provider-anynines"
  | "function-klutch"
  | "configuration-dataservices"
  | "configuration-dataservices-namespaced"
  | "charts/klutch"
  | "charts/klutch-konnector";

/** A registry that nothing can be had from; the message names field, value and what would be right. */
export class RegistryError extends Error {
  readonly code = "Registry";

  constructor(field: string, value: string, problem: string) {
    // A password in front of the host must not be printed.
    const shown = JSON.stringify(value.replace(/[^/]*@/, "…@"));
    super(`${field}: is ${shown}, ${problem}; ${expected}`);
    this.name = "RegistryError";
  }
}

const expected = "expected HOST[:PORT][/PATH], such as registry.example.org/klutch";

/**
 * Reads where artefacts are to be had. The grammar is that of image references (distribution/reference), without tag and digest. A host
 * without a dot or a port is refused, except localhost: container runtimes would look for it in a public registry. Throws `RegistryError`.
 */
export function parseRegistry(value: string, field = "--registry"): Registry {
  const problem = problemOf(value);
  if (problem !== undefined || !isRegistry(value)) throw new RegistryError(field, value, problem ?? "");
  return value;
}

/** Returns true if `problemOf` finds no fault in the text. */
function isRegistry(value: string): value is Registry {
  return problemOf(value) === undefined;
}

const label = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
const host = new RegExp(`^(?:${label}(?:\\.${label})*|\\[[0-9a-f:]+\\])$`, "i");
const component = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/;
const longestRegistry = 200;

/** The commonest mistakes first, each in its own words. */
function problemOf(value: string): string | undefined {
  if (value === "") return "which is empty";
  if (/\s/.test(value)) return "which has a space";
  if (/^[a-z+.-]+:\/\//i.test(value)) return "which has a scheme";
  if (value.includes("@")) return "which has a digest or a user";
  if (value.length > longestRegistry) return `which is longer than ${longestRegistry} characters`;
  const [authority = "", ...path] = value.split("/");
  return authorityProblem(authority, path.length > 0) ?? pathProblem(path);
}

function authorityProblem(authority: string, hasPath: boolean): string | undefined {
  const [, name = "", port] = /^(.*?)(?::([^:\]]*))?$/.exec(authority) ?? [];
  if (!host.test(name)) return `whose host ${JSON.stringify(name)} is no name and no address`;
  if (port !== undefined && !/^[1-9]\d{0,4}$/.test(port))
    return `whose port ${JSON.stringify(port)} is no number from 1 to 65535${hasPath ? "" : " (a tag is not part of a registry)"}`;
  if (Number(port) > 65_535) return `whose port ${JSON.stringify(port)} is no number from 1 to 65535`;
  if (port === undefined && name !== "localhost" && !/[.\]]/.test(name))
    return `whose host ${JSON.stringify(name)} has neither a dot nor a port`;
  return undefined;
}

function pathProblem(path: readonly string[]): string | undefined {
  const wrong = path.find((part) => !component.test(part));
  if (wrong === undefined) return undefined;
  if (wrong === "") return "which has an empty part between slashes or a slash at its end";
  if (wrong.includes(":")) return "which has a tag";
  return `whose part ${JSON.stringify(wrong)} may have only small letters, digits and single separators between them`;
}

/**
 * Registry of releases, defined only here. The name is reserved (RFC 2606), so no one can serve images under it: the builder of a
 * release names another registry, here or by `--registry`.
 */
export const releaseRegistry: Registry = parseRegistry("registry.klutch.example/klutch", "releaseRegistry");

/** URL for downloading a release, with a folder for each version; reserved like the registry's name. */
export const releaseDownloads = "https://downloads.klutch.example";

/** Further coordinates of an artefact, besides its name. */
export interface ArtefactOptions {
  /** Default: `releaseRegistry`. */
  readonly registry?: Registry | undefined;
  /** `sha256:<hex>`: nothing else is ever taken then, whatever the tag says. The tag stays, because people and plugins read it. */
  readonly digest?: string | undefined;
}

/** Returns the reference of an artefact of this version. */
export function artefact(name: ArtefactName, options: ArtefactOptions = {}): string {
  const { registry = releaseRegistry, digest } = options;
  const tagged = `${registry}/${name}:${klutchVersion}`;
  return digest === undefined ? tagged : `${tagged}@${digest}`;
}

/** Returns the URL at which programs reach a registry: over TLS, except on this machine. */
export function registryAddress(registry: Registry): { readonly url: string; readonly path: string } {
  const [authority = "", ...path] = registry.split("/");
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(authority);
  return { url: `${isLoopback ? "http" : "https"}://${authority}`, path: path.join("/") };
}
