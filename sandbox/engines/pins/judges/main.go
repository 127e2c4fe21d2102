// Program judges says what the GitOps tools make of Kubernetes objects, by the tools' own code: kstatus of cli-utils, Argo CD's
// health of a resource, and Flux' evaluator of health check expressions.
//
// It reads one question as JSON on its standard input and writes one answer as JSON on its standard output.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// question is what is asked.
type question struct {
	// Argo has a script by "<group>/<Kind>".
	Argo map[string]string `json:"argo"`
	// Flux has the checks as they stand in a Kustomization.
	Flux []kustomize.CustomHealthCheck `json:"flux"`
	// Objects are to be judged.
	Objects []json.RawMessage `json:"objects"`
}

// verdict is what one tool says; an error is what it fails with.
type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
}

// verdicts are those about one object. A tool that has no check for the kind says nothing.
type verdicts struct {
	Kstatus verdict `json:"kstatus"`
	Argo    verdict `json:"argo"`
	Flux    verdict `json:"flux"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return fmt.Errorf("the question is no JSON: %w", err)
	}
	overrides := lua.ResourceHealthOverrides{}
	for kind, script := range asked.Argo {
		overrides[kind] = argo.ResourceOverride{HealthLua: script}
	}
	evaluators := map[string]*cel.StatusEvaluator{}
	for _, check := range asked.Flux {
		evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
		if err != nil {
			return fmt.Errorf("Flux refuses the check of %s: %w", check.Kind, err)
		}
		evaluators[check.APIVersion+"/"+check.Kind] = evaluator
	}
	answer := []verdicts{}
	for _, text := range asked.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return fmt.Errorf("an object cannot be read: %w", err)
		}
		answer = append(answer, verdicts{
			Kstatus: ofKstatus(object),
			Argo:    ofArgo(object, overrides),
			Flux:    ofFlux(object, evaluators[object.GetAPIVersion()+"/"+object.GetKind()]),
		})
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func ofKstatus(object *unstructured.Unstructured) verdict {
	result, err := status.Compute(object)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	return verdict{Status: string(result.Status), Message: result.Message}
}

func ofArgo(object *unstructured.Unstructured, overrides lua.ResourceHealthOverrides) verdict {
	result, err := health.GetResourceHealth(object, overrides)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	if result == nil {
		return verdict{}
	}
	return verdict{Status: string(result.Status), Message: result.Message}
}

func ofFlux(object *unstructured.Unstructured, evaluator *cel.StatusEvaluator) verdict {
	if evaluator == nil {
		return verdict{}
	}
	result, err := evaluator.Evaluate(context.Background(), object)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	return verdict{Status: string(result.Status), Message: result.Message}
}
