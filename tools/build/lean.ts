/** Leaves out of bundles what no program of ours uses, but its packages or Node would load when a program starts. It is memory of every Pod. */
import type { Plugin } from "esbuild";

/**
 * Modules of packages that load all of themselves by their own entry: undici also fetch, WebSocket, caches and mocks, prom-client also Pushgateway
 * and the cluster module. By the names that sources import; a build that needs another one fails.
 */
const modules: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  undici: {
    Agent: "lib/dispatcher/agent.js",
    buildConnector: "lib/core/connect.js",
    requestBy: "lib/api/api-request.js",
  },
  "prom-client": {
    collectDefaultMetrics: "lib/defaultMetrics.js",
    Counter: "lib/counter.js",
    Gauge: "lib/gauge.js",
    Histogram: "lib/histogram.js",
    Registry: "lib/registry.js",
  },
};

/** Makes undici's `request(address, options)` of the method of a dispatcher, as its own entry does. */
const request = `
export function request(address, { dispatcher, ...options }) {
  const { origin, pathname, search } = new URL(address);
  return requestBy.call(dispatcher, { ...options, origin, path: pathname + search });
}`;

/** prom-client asks it for the trace of an exemplar, and our metrics have none. Where traces are on, our own tracer has the package itself. */
const unused = "@opentelemetry/api";

/** Puts the lean entries in the place of the packages' own. */
export const leanPackages: Plugin = {
  name: "lean packages",
  setup: (building) => {
    building.onResolve(
      { filter: /^(?:undici|prom-client|@opentelemetry\/api)$/ },
      ({ path, kind, importer }) =>
        (path === unused ? isOfMetrics(importer) : kind === "import-statement")
          ? { path, namespace: "lean", sideEffects: false }
          : undefined,
    );
    building.onLoad({ filter: /./, namespace: "lean" }, ({ path }) => ({
      contents: entryOf(path),
      resolveDir: import.meta.dirname,
    }));
  },
};

function isOfMetrics(importer: string): boolean {
  return /[/\\]node_modules[/\\]prom-client[/\\]/.test(importer);
}

function entryOf(name: string): string {
  if (name === unused) return "module.exports = {};";
  const found = Object.entries(modules[name] ?? {});
  const imports = found.map(([one, file]) => `import ${one} from ${JSON.stringify(`${name}/${file}`)};`);
  const names = found.map(([one]) => one).join(", ");
  return [...imports, `export { ${names} };`, name === "undici" ? request : ""].join("\n");
}

/**
 * Takes modules of Node by `require`. An `import` reads every export of such a module, lazy ones too: that of `node:http` loads Node's own
 * copy of undici for its WebSocket.
 */
export const requiredBuiltins: Plugin = {
  name: "required builtins",
  setup: (building) => {
    building.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "builtin", sideEffects: false } : undefined,
    );
    building.onLoad({ filter: /./, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};
