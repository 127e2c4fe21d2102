/** Anchors of headings, as GitHub makes them, so that the same link works there and on the site. */

/** The anchor of a heading's text; the second of the same text needs a number behind it, which `anchorsOf` adds. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** Gives each heading of one page an anchor of its own, in the order of the page. */
export function anchors(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const anchor = anchorOf(heading);
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  };
}
