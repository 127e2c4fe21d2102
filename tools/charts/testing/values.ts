/** Values that charts take, for tests. */

/** Arguments of Helm that put a release where its chart wants to be. */
export const atHome = {
  klutch: ["--namespace", "klutch-backend"],
  "klutch-konnector": ["--namespace", "klutch-bind"],
} as const;

/** The fewest values that each chart takes. */
export const minimal = {
  klutch: {
    publicUrl: "https://klutch.example.org",
    oidc: { issuerUrl: "https://login.example.org", clientId: "klutch", secretName: "klutch-oidc" },
    cookies: { secretName: "klutch-cookies" },
    apiServer: { address: "https://api.example.org:6443" },
  },
  "klutch-konnector": {},
} as const;

const certificate = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";

/** Everything that the chart of the control plane can make, in as many variants as exclude each other. */
export const variants: Readonly<Record<"ingress" | "gateway" | "backend" | "fleet", object>> = {
  ingress: {
    ...minimal.klutch,
    imagePullSecrets: [{ name: "registry" }],
    ingress: { enabled: true, host: "klutch.example.org", className: "public", annotations: { a: "b" } },
    tls: { certManager: { enabled: true, issuerRef: { name: "letsencrypt" } } },
    serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
    podMonitor: { enabled: true, labels: { release: "prometheus" } },
    prometheusRule: { enabled: true, labels: { release: "prometheus" }, backupHours: 12 },
    tracing: { endpoint: "http://collector.observability:4318", samplingRatio: 0.1 },
    packages: { enabled: true, namespacedClaims: true, runtimeConfigName: "small" },
    providerKubernetes: { package: "registry.example.org/crossplane/provider-kubernetes:v1.2.0" },
  },
  gateway: {
    ...minimal.klutch,
    gateway: {
      enabled: true,
      host: "klutch.example.org",
      parentRefs: [{ name: "public", namespace: "gateways" }],
    },
    controlPlaneMode: true,
    allowedImagePrefixes: ["registry.example.org/klutch"],
    verbosity: 0,
  },
  backend: {
    ...minimal.klutch,
    oidc: { ...minimal.klutch.oidc, ca: certificate, allowedRedirects: ["https://a.example.org/b"] },
    apiServer: { ...minimal.klutch.apiServer, ca: certificate, serverName: "kubernetes" },
    tls: { secretName: "klutch-tls" },
    service: { type: "LoadBalancer", port: 8443, annotations: { a: "b" } },
    networkPolicy: {
      from: [{ ipBlock: { cidr: "0.0.0.0/0" } }],
      egress: [{ ports: [{ port: 443, protocol: "TCP" }] }],
    },
    podLabels: { team: "data" },
    podAnnotations: { a: "b" },
    priorityClassName: "system-cluster-critical",
    nodeSelector: { "kubernetes.io/arch": "amd64" },
    tolerations: [{ operator: "Exists" }],
    affinity: { nodeAffinity: {} },
  },
  fleet: {
    ...minimal.klutch,
    tenantGateway: {
      enabled: true,
      secretName: "gateway-tls",
      replicas: 2,
      from: [{ ipBlock: { cidr: "192.0.2.0/24" } }],
      egress: [{ to: [{ ipBlock: { cidr: "198.51.100.7/32" } }], ports: [{ port: 6443, protocol: "TCP" }] }],
      resources: { requests: { cpu: "100m", memory: "512Mi" } },
    },
    priorityAndFairness: { enabled: true, namespaces: ["crossplane-system", "upbound"] },
    offers: ["widgets.shop.example.com"],
  },
};

/** Values with which the chart of app clusters makes everything that it can. */
export const everyKonnectorValue = {
  image: { pullPolicy: "Always" },
  imagePullSecrets: [{ name: "registry" }],
  replicas: 3,
  logLevel: "debug",
  tracing: { endpoint: "https://collector.example.org/otlp", samplingRatio: 0.25 },
  massDeletionLimit: 0,
  providerObjectsLimit: 2_000_000,
  podDisruptionBudget: { minAvailable: 2 },
  networkPolicy: { enabled: true },
  serviceMonitor: { enabled: true },
  prometheusRule: { enabled: true, syncSeconds: 5 },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" },
  ],
  podLabels: { team: "data" },
  podAnnotations: { a: "b" },
  nodeSelector: { "kubernetes.io/os": "linux" },
} as const;
