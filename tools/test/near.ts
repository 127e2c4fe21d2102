/** What a filter of test files that matches nothing was probably meant to be. */

/** The most that is suggested. */
const most = 3;

/** Paths of `files` and of their folders that are written almost like `filter`, nearest first. */
export function nearPaths(filter: string, files: readonly string[]): readonly string[] {
  const wanted = bare(filter);
  const length = wanted.split("/").length;
  const distances = [...new Set(files.flatMap(withFolders))].map((path) => {
    const distance = Math.min(...windows(bare(path), length).map((part) => editDistance(wanted, part)));
    return { path, distance };
  });
  const nearest = Math.min(...distances.map(({ distance }) => distance));
  return distances
    .filter(({ distance }) => distance <= nearest + 1 && distance <= wanted.length / 3)
    .toSorted((left, right) => left.distance - right.distance || left.path.length - right.path.length)
    .slice(0, most)
    .map(({ path }) => path);
}

/** The path and each folder it lies in: `a/b/c.test.ts` gives `a`, `a/b` and itself. */
function withFolders(path: string): string[] {
  const segments = path.split("/");
  return segments.map((_, index) => segments.slice(0, index + 1).join("/"));
}

/** Without what every test file's name ends with, so that `client.ts` finds `client.test.ts`. */
function bare(path: string): string {
  return path.replace(/(?:\.real)?(?:\.test)?\.ts$/, "").replace(/\/$/, "");
}

/** The last `length` segments of the path; all of it when it has fewer. */
function windows(path: string, length: number): string[] {
  return [path.split("/").slice(-length).join("/"), path];
}

/** How many characters must be added, removed or exchanged to make one of the other. */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 0; row < left.length; row += 1) {
    const current = [row + 1];
    for (let column = 0; column < right.length; column += 1) {
      const exchanged = (previous[column] ?? 0) + (left[row] === right[column] ? 0 : 1);
      current.push(Math.min(exchanged, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
