import assert from "node:assert/strict";
import { test } from "node:test";
import { missingPaths, readArchitecture } from "./architecture.ts";
import { openTree } from "./tree.ts";

const page = `# Architecture
| folder | what | may import |
|---|---|---|
| \`packages/a\` | uses b | b; undici |
| \`packages/b\` | basics | – |
| \`tools\` | prints with \`x\` | every library, konnector |

## Inside \`apps/x/src\`
| room | idea |
|---|---|
| \`main.ts\`, \`index.ts\` | the process |
| \`upper/\` | uses \`lower/\` |
| \`lower/\` | less |

## Further
| step | file |
|---|---|
| a step | \`packages/a/x.ts\`, \`packages/a/gone.ts\`, \`apps/*/main.ts\`, \`spec.names\`, \`kubectl bind\` |
`;

test("a row of three cells says what a part may import, and a section has a part's rooms from top to bottom", () => {
  const { imports, houses } = readArchitecture(page);
  assert.deepEqual([...imports.keys()], ["packages/a", "packages/b", "tools"]);
  assert.deepEqual([...(imports.get("packages/a") ?? [])], ["b", "undici"]);
  const others = ["certificates", "data-servers", "engines", "kube-testing", "nodes", "konnector"];
  assert.deepEqual([...(imports.get("tools") ?? [])], ["a", "b", ...others]);
  assert.deepEqual(houses, [
    { folder: "apps/x/src", rooms: [["main.ts", "index.ts"], ["upper/"], ["lower/"], ["./"]] },
  ]);
});

test("a path or a room that is gone is found; patterns and words of other kinds are none", () => {
  const there = ["packages/a", "packages/b", "packages/a/x.ts", "apps/x/src"];
  const rooms = ["main.ts", "index.ts", "lower/"].map((room) => `apps/x/src/${room}`);
  assert.deepEqual(
    missingPaths(page, (path) => [...there, ...rooms].includes(path)),
    ["packages/a/gone.ts", "apps/x/src/upper/"].map((path) => `docs/architecture.md: ${path} does not exist`),
  );
});

test("the page has rules for the parts, the larger ones with rooms", () => {
  const { imports, houses } = readArchitecture(openTree().text("docs/architecture.md"));
  assert.deepEqual([...(imports.get("packages/oci") ?? [])], []);
  assert.deepEqual([...(imports.get("packages/osb") ?? [])], ["http-client"]);
  assert.deepEqual(
    houses.map(({ folder }) => folder),
    ["apps/konnector/src", "apps/backend/src", "apps/cli/src", "apps/provider-anynines/src"],
  );
});
