// Renders templates as the SIP operator does, with Go's html/template.
//
//	go-templates < REQUESTS
//
// A request is a line of JSON: {"template": "...", "servers": [{"Name": "a", "IP": "192.0.2.1"}], "ports": [{"Name":
// "http", "ContainerPort": 6443}]}. For each, in the same order, prints a line of JSON: {"output": "..."}, or {"error":
// "..."} with the reason why it cannot be rendered.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
)

type server struct {
	IP   string
	Name string
}

type port struct {
	Name          string
	ContainerPort int32
}

type request struct {
	Template string   `json:"template"`
	Servers  []server `json:"servers"`
	Ports    []port   `json:"ports"`
}

type answer struct {
	Output string `json:"output"`
	Error  string `json:"error,omitempty"`
}

func render(request request) (string, error) {
	parsed, err := template.New("haproxy-config").Parse(request.Template)
	if err != nil {
		return "", err
	}
	data := struct {
		ContainerPorts []port
		Servers        []server
	}{request.Ports, request.Servers}
	var text bytes.Buffer
	err = parsed.Execute(&text, data)
	return text.String(), err
}

func main() {
	requests, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var request request
		if err := requests.Decode(&request); err == io.EOF {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "go-templates:", err)
			os.Exit(1)
		}
		var answer answer
		output, err := render(request)
		if err != nil {
			answer.Error = err.Error()
		} else {
			answer.Output = output
		}
		if err := answers.Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, "go-templates:", err)
			os.Exit(1)
		}
	}
}
