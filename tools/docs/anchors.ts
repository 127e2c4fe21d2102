/** Returns the anchor of a heading as GitHub makes it, so that the same link works there and on the site. The site numbers repeated ones. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}
