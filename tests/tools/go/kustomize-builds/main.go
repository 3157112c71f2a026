// Builds kustomizations in memory, with the code that `kustomize build` and Flux run.
//
//	kustomize-builds < REQUESTS
//
// A request is a line of JSON: {"files": {"a/kustomization.yaml": "..."}, "directory": "a"}, and for a build by Flux
// "substitute": {"NAME": "..."} with the variables of a Kustomization. For each, in the same order, prints a line of
// JSON: {"output": "..."} with the objects, or {"error": "..."} with the reason why there are none.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

type request struct {
	Files      map[string]string `json:"files"`
	Directory  string            `json:"directory"`
	Substitute map[string]any    `json:"substitute"`
}

type answer struct {
	Output string `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`
}

func build(request request) (output string, err error) {
	// There are trees on which kustomize panics.
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	files := filesys.MakeFsInMemory()
	for path, text := range request.Files {
		if err := files.WriteFile("/"+path, []byte(text)); err != nil {
			return "", err
		}
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/"+request.Directory)
	if err != nil {
		return "", err
	}
	if request.Substitute != nil {
		if err := substitute(objects, request.Substitute); err != nil {
			return "", err
		}
	}
	text, err := objects.AsYaml()
	return string(text), err
}

// Replaces variables as kustomize-controller does in its method `build`.
func substitute(objects resmap.ResMap, variables map[string]any) error {
	kustomization := unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"postBuild": map[string]any{"substitute": variables}},
	}}
	for _, object := range objects.Resources() {
		changed, err := kustomize.SubstituteVariables(context.Background(), nil, kustomization, object,
			kustomize.SubstituteWithDryRun(true))
		if err != nil {
			return err
		}
		if changed != nil {
			if _, err := objects.Replace(object); err != nil {
				return err
			}
		}
	}
	return nil
}

func run(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var request request
		if err := requests.Decode(&request); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		output, err := build(request)
		result := answer{Output: output}
		if err != nil {
			result = answer{Error: err.Error()}
		}
		if err := answers.Encode(result); err != nil {
			return err
		}
	}
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
