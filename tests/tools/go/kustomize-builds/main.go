// Builds kustomizations in memory, with the code that `kustomize build` and Flux run.
//
//	kustomize-builds < REQUESTS
//
// A request is a line of JSON: {"files": {"a/kustomization.yaml": "..."}, "directory": "a"}. For each, in the same
// order, prints a line of JSON: {"output": "..."} with the objects, or {"error": "..."} with the reason why there are
// none.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

type request struct {
	Files     map[string]string `json:"files"`
	Directory string            `json:"directory"`
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
	text, err := objects.AsYaml()
	return string(text), err
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
