/** Lists the allowed imports: the table of docs/architecture.md as data. */

/** Imports that a folder may use, besides itself, Node's own modules and `telemetry`. */
export interface FolderRule {
  readonly parts: readonly string[];
  readonly thirdParty: readonly string[];
  /** Folders whose files may be imported by their paths. */
  readonly beside?: readonly string[];
}

const pure: FolderRule = { parts: [], thirdParty: [] };
const anything = [
  "kube-core",
  "schema",
  "api",
  "services",
  "sync",
  "kube",
  "kube-runtime",
  "program",
  "kube-testing",
  "telemetry",
  "http-client",
  "osb",
  "backup-manager",
  "crossplane",
  "oci",
  "engines",
  "certificates",
  "data-servers",
  "nodes",
];

/** Rules by folder. A folder that is not listed may import nothing, so a new one must be added here on purpose. */
export const folderRules: Readonly<Record<string, FolderRule>> = {
  // Patterns are written in the language of the API server's engine.
  "packages/schema": { parts: [], thirdParty: ["re2js"] },
  "packages/kube-core": { parts: [], thirdParty: ["kubernetes-types"] },
  "packages/api": { parts: ["schema", "kube-core"], thirdParty: [] },
  "packages/services": { parts: ["api", "schema", "kube", "kube-core"], thirdParty: [] },
  "packages/sync": { parts: ["api", "schema", "kube-core"], thirdParty: [] },
  "packages/telemetry": { parts: [], thirdParty: ["pino", "prom-client"] },
  "packages/kube": { parts: ["kube-core"], thirdParty: ["undici", "js-yaml"] },
  "packages/kube-runtime": { parts: ["kube", "kube-core"], thirdParty: [] },
  "packages/program": { parts: ["kube-runtime", "kube", "kube-core"], thirdParty: [] },
  "proof/osb-conformance": { parts: ["osb", "osb/internal", "http-client"], thirdParty: [] },
  "proof/kube-testing": { parts: ["kube", "kube-core", "engines"], thirdParty: [] },
  "packages/http-client": { parts: [], thirdParty: ["undici"] },
  "packages/osb": { parts: ["http-client"], thirdParty: [] },
  "packages/backup-manager": { parts: ["kube-core", "http-client"], thirdParty: [] },
  "packages/crossplane": {
    parts: ["kube-runtime", "kube", "kube-core"],
    thirdParty: ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-node"],
  },
  "packages/oci": pure,
  "sandbox/engines": pure,
  "sandbox/certificates": { parts: [], thirdParty: ["@peculiar/x509", "reflect-metadata"] },
  "sandbox/data-servers": {
    parts: ["certificates", "engines", "program", "kube-runtime"],
    thirdParty: ["pg"],
  },
  "sandbox/nodes": {
    parts: ["kube-testing", "kube", "kube-core", "oci", "engines", "certificates"],
    thirdParty: [],
  },
  "apps/konnector": {
    parts: ["sync", "api", "program", "kube-runtime", "kube", "kube-core"],
    thirdParty: [],
  },
  "apps/backend": {
    parts: ["api", "program", "kube-runtime", "kube", "kube-core"],
    thirdParty: ["hono", "@hono/node-server", "openid-client", "jose"],
  },
  "apps/cli": {
    parts: ["services", "sync", "api", "oci", "kube", "kube-core"],
    thirdParty: ["commander", "@clack/prompts", "yocto-spinner"],
  },
  "apps/provider-anynines": {
    parts: [
      "services",
      "api",
      "crossplane",
      "program",
      "kube-runtime",
      "kube",
      "kube-core",
      "osb",
      "backup-manager",
    ],
    thirdParty: [],
  },
  "apps/function-klutch": {
    parts: ["services", "api", "crossplane", "program", "kube-runtime", "kube-core"],
    thirdParty: [],
  },
  "sandbox/broker": {
    parts: ["api", "program", "kube-runtime", "osb", "backup-manager", "data-servers", "engines"],
    thirdParty: ["@redis/client", "hono", "@hono/node-server", "pg"],
  },
  "sandbox/a8s-operator": {
    parts: ["api", "schema", "data-servers", "engines", "program", "kube-runtime", "kube", "kube-core"],
    thirdParty: ["pg"],
  },
  "sandbox/launcher": {
    parts: [
      "services",
      "api",
      "engines",
      "certificates",
      "kube",
      "kube-core",
      "kube-runtime",
      "kube-testing",
      "nodes",
      "oci",
    ],
    thirdParty: ["pg"],
  },
  // Manifests and flags of the apps are printed.
  tools: {
    parts: [
      ...anything,
      "a8s-operator",
      "backend",
      "broker",
      "cli",
      "function-klutch",
      "konnector",
      "provider-anynines",
    ],
    thirdParty: ["@babel/parser", "esbuild", "vitepress"],
  },
  // The store of our broker is filled and read past it.
  // Worlds and traffic of the end-to-end tests are measured, too.
  "proof/bench": { parts: [...anything, "konnector", "launcher"], thirdParty: ["pg"], beside: ["proof/e2e"] },
  // The simulation runs the agent itself, in virtual time; the sandbox plays the person who binds.
  "proof/simulation": { parts: [...anything, "konnector"], thirdParty: [] },
  "proof/e2e": {
    parts: [...anything, "konnector", "launcher"],
    thirdParty: ["pg", "playwright-core", "axe-core"],
  },
};

/** Imports that test files may use in addition to their folder's rule. */
export const testRule: FolderRule = {
  // The examples of packages/osb are tried with the broker that checks of brokers are tried with.
  parts: [...anything, "osb-conformance/testing"],
  thirdParty: [
    "fast-check",
    "oidc-provider",
    "playwright-core",
    "axe-core",
    "pg",
    "undici",
    "@peculiar/x509",
    "reflect-metadata",
  ],
};

/** The rule's key for a file path, such as `packages/kube` or `tools`. */
export function folderOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return ["packages", "apps", "sandbox", "proof"].includes(first) ? `${first}/${second}` : first;
}

/** Module specifiers of the static and dynamic imports and re-exports in `text`. */
export function importsOf(text: string): string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\b[^;"'`]*?from\s*["']([^"']+)["']|\bimport\s*\(\s*["']([^"']+)["']|(?:^|\n)import\s+["']([^"']+)["']/g;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}
