/** The repository as the checks see it. */
import { generatedFiles } from "../generate/files.ts";
import { importGraph } from "./rooms.ts";
import { isHandWritten, listFiles, readSource, type SourceFile } from "./source-files.ts";

/** Each part is read or made when the first check asks for it, and only once. Later changes of files are not seen. */
export interface Tree {
  /** Every file that git tracks or would track. */
  readonly paths: ReadonlySet<string>;
  /** Those of them that `select` accepts, sorted by path. */
  readonly files: (select: (path: string) => boolean) => readonly SourceFile[];
  /** Text of one file; empty when there is none. */
  readonly text: (path: string) => string;
  /** Which hand-written files each of them imports. */
  readonly imports: () => ReadonlyMap<string, readonly string[]>;
  /** What the sources of generated files print now, by path. */
  readonly generated: () => ReadonlyMap<string, string>;
}

/** Opens the tree; nothing but the list of files is read yet. */
export function openTree(): Tree {
  const paths = new Set(listFiles());
  const sources = new Map<string, SourceFile>();
  const sourceOf = (path: string): SourceFile => {
    const source = sources.get(path) ?? readSource(path);
    sources.set(path, source);
    return source;
  };
  const files = (select: (path: string) => boolean): readonly SourceFile[] =>
    [...paths].filter(select).map(sourceOf);
  return {
    paths,
    files,
    text: (path) => (paths.has(path) ? sourceOf(path).text : ""),
    imports: once(() => importGraph(files(isHandWritten))),
    generated: once(generatedFiles),
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
