/**
 * The opt-in of an app cluster's operator: API groups whose APIs the konnector binds by itself (designs/0034-additions.md). The chart writes it
 * on the konnector's role for these groups, where the konnector cannot write; the plugin reads it there for the admission policy.
 */
import { jsonOf, listAt } from "@klutch/kube-core";
import { checkApiFullName, checkApiName } from "../foreign/api-name.ts";
import { autoBoundAnnotation, bindGroup, kubeconfigKey, ownBindSecret } from "../names.ts";

/** API groups, and names of APIs in them that are left to people. */
export interface AutoBindScope {
  readonly groups: readonly string[];
  readonly except: readonly string[];
}

/** Name of the konnector's ClusterRole on these groups. No role of a bound API has it. */
export const autoBindRole = "klutch-bind-konnector-auto-bind";
/** Annotation of that role: the scope as JSON. */
export const autoBindAnnotation = "klutch.anynines.com/auto-bind";

/** Reads the annotation. Names that no API may have are left out, because the scope becomes part of an expression. */
export function parseAutoBind(text: string | undefined): AutoBindScope {
  const value = jsonOf(text);
  const texts = (field: string): readonly string[] =>
    listAt(value, field).filter((one) => typeof one === "string");
  return {
    groups: texts("groups").filter((group) => checkApiName(group, "apis") === undefined),
    except: texts("except").filter((name) => checkApiFullName(name) === undefined),
  };
}

/** Returns true for the name of an API that the scope lets the konnector bind. */
export function isAutoBindApi(name: string, { groups, except }: AutoBindScope): boolean {
  return groups.includes(name.slice(name.indexOf(".") + 1)) && !except.includes(name);
}

/** Returns a CEL expression that is true for the name of an API of the groups. The lists are as CEL writes them. */
export function isAutoBindable(
  name: string,
  { groups, except }: Readonly<Record<keyof AutoBindScope, string>>,
): string {
  return `(${groups}.exists(group, ${name} == ${name}.split('.')[0] + '.' + string(group)) && !${except}.exists(one, ${name} == string(one)))`;
}

/** Is true for an APIServiceBinding that the konnector creates. */
export const isNewBinding: string = `variables.resource == 'apiservicebindings.${bindGroup}' && variables.part == '' && request.operation == 'CREATE' && variables.isHome`;

/** Is true if it accepts nothing, names the konnector's own Secret, and carries nothing else that a person could have meant. */
export const isModestBinding: string = `!has(object.spec.permissionClaims) && object.spec.kubeconfigSecretRef.name == '${ownBindSecret}' && object.spec.kubeconfigSecretRef.namespace == object.metadata.namespace && object.spec.kubeconfigSecretRef.key == '${kubeconfigKey}' && variables.changedLabels.size() == 0 && variables.changedAnnotations.all(key, key == '${autoBoundAnnotation}')`;
