import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseYamlDocuments } from "@klutch/kube";
import { crossplaneRbac, render } from "./install.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-chart-"));
after(() => rm(folder, { recursive: true, force: true }));

const binding = `{{- if .Values.rbacManager.deploy }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ template "crossplane.name" . }}-rbac-manager
  labels:
    app: {{ template "crossplane.name" . }}
    {{- include "crossplane.labels" . | indent 4 }}
  {{- with .Values.customAnnotations }}
  annotations: {{ toYaml . | nindent 4 }}
  {{- end }}
roleRef:
  kind: ClusterRole
  name: crossplane-rbac-manager
subjects:
- kind: ServiceAccount
  name: rbac-manager
  namespace: {{ .Release.Namespace }}
{{- end}}
`;

test("name and namespace are filled in, conditions are true, and loops are left out", () => {
  assert.deepEqual(parseYamlDocuments(render(binding)), [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "crossplane-rbac-manager", labels: { app: "crossplane" } },
      roleRef: { kind: "ClusterRole", name: "crossplane-rbac-manager" },
      subjects: [{ kind: "ServiceAccount", name: "rbac-manager", namespace: "crossplane-system" }],
    },
  ]);
});

test("a line whose value is a setting goes, and its neighbours stay", () => {
  assert.equal(render("a: 1\nb: {{ .Values.size }}\nc: 2\n").replaceAll(/\n+/g, "\n"), "a: 1\nc: 2\n");
});

test("nothing of the template language is left", () => {
  assert.doesNotMatch(render(binding), /\{\{|\}\}/);
});

test("the objects of all role templates are read, and a template that is missing is an error", async () => {
  const templates = join(folder, "cluster", "charts", "crossplane", "templates");
  await mkdir(templates, { recursive: true });
  for (const name of [
    "clusterrole.yaml",
    "clusterrolebinding.yaml",
    "rbac-manager-clusterrole.yaml",
    "rbac-manager-clusterrolebinding.yaml",
    "rbac-manager-allowed-provider-permissions.yaml",
  ])
    await writeFile(join(templates, name), binding);
  await assert.rejects(crossplaneRbac(folder), /rbac-manager-managed-clusterroles/);
  await writeFile(join(templates, "rbac-manager-managed-clusterroles.yaml"), `${binding}---\n# nothing\n`);
  assert.equal((await crossplaneRbac(folder)).length, 6);
});
