import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMarkdown } from "./markdown.ts";
import { buildSite } from "./site.ts";

const everywhere = (href: string): string => href;
const siteOf = (pages: Readonly<Record<string, string>>): ReturnType<typeof buildSite> =>
  buildSite({ paths: new Set(Object.keys(pages)), text: (path) => pages[path] ?? "" });

test("raw HTML is shown as text, whatever it is, and a comment is not shown", () => {
  for (const hostile of [
    "<script>alert(1)</script>",
    "text <img src=x onerror=alert(1)> text",
    "<svg/onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<a href='javascript:alert(1)'>press</a>",
    "![x](https://spy.test/pixel.png)",
    "| <iframe src=x> |\n|---|\n| <b onclick=x> |",
    "# <script>alert(1)</script>",
    '```"><script>\ncode\n```',
    "`<script>`",
    "[x][1]\n\n[1]: <https://a.test/\"onclick=x> 'title\" onclick=x'",
  ]) {
    const { html } = renderMarkdown(hostile, everywhere);
    const tags = html.match(/<\/?([a-z0-9]+)/g) ?? [];
    const harmless = /^<\/?(?:p|pre|code|h1|a|div|table|thead|tbody|tr|th|td)$/;
    assert.deepEqual(
      tags.filter((tag) => !harmless.test(tag)),
      [],
      html,
    );
    assert.doesNotMatch(html, /<[^>]*\son\w+=/, html);
  }
  assert.equal(renderMarkdown("<!-- Generated -->\n", everywhere).html, "");
});

test("a link that is no address of the web and no page is text, and is told", () => {
  const links = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java&#x73;cript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "//spy.test/x",
    "file:///etc/passwd",
    "../../etc/passwd",
    "gone.md",
    "b.md#gone",
  ];
  const text = links.map((link) => `[press](${link})`).join("\n\n");
  const { files, problems } = siteOf({ "docs/a.md": `# A\n\n${text}\n`, "docs/b.md": "# B\n" });
  assert.equal(problems.length, links.length, problems.join("\n"));
  assert.doesNotMatch(files.get("a.html") ?? "", /<a [^>]*(?:script|data|file):/i);
});

test("pages lead to each other, to headings, and to files that are no pages; each heading has its own anchor", () => {
  const { files, problems } = siteOf({
    "docs/README.md":
      "# Home\n[deep](sub/deep.md#two-words-1) [file](../configuration/a.yaml) [folder](../configuration)\n",
    "docs/sub/deep.md": "# Deep\n## Two `words`\n## Two words\n[home](../README.md) [own](#two-words)\n",
    "configuration/a.yaml": "a: <1>\n",
  });
  assert.deepEqual(problems, []);
  assert.match(files.get("index.html") ?? "", /href="sub\/deep\.html#two-words-1"/);
  assert.match(files.get("sub/deep.html") ?? "", /<h2 id="two-words-1">/);
  assert.match(files.get("sub/deep.html") ?? "", /href="\.\.\/index\.html">home/);
  assert.match(files.get("files/configuration/a.yaml.html") ?? "", /a: &lt;1&gt;/);
  assert.match(files.get("files/configuration/index.html") ?? "", /href="a\.yaml\.html"/);
});
