// Judges objects as a kube-apiserver with a CustomResourceDefinition would: with its own validation of
// definitions, its own pruning and defaulting, and its own strategy for custom resources.
//
//	api-server-validation DEFINITION.yaml < REQUESTS
//
// A request is a line of JSON: {"object": {...}} creates it, {"object": {...}, "old": {...}} updates it.
// For each, in the same order, prints a line of JSON: what is wrong with it, which fields it loses because
// the definition does not know them, what would be stored, and the line that `kubectl get -o wide` shows.
// A definition that an API server refuses is said on stderr, and the program ends with 1.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	groups "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type verdict struct {
	Errors  []string       `json:"errors"`
	Dropped []string       `json:"dropped"`
	Stored  map[string]any `json:"stored"`
	Columns map[string]any `json:"columns"`
}

func run(arguments []string, requests io.Reader, verdicts io.Writer) error {
	if len(arguments) != 1 {
		return errors.New("usage: api-server-validation DEFINITION.yaml < REQUESTS")
	}
	text, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	server, err := newServer(text)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(requests)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var asked map[string]any
		// Kubernetes' own way with numbers: whole ones stay whole.
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		object, _ := asked["object"].(map[string]any)
		old, _ := asked["old"].(map[string]any)
		found, err := server.judge(object, old)
		if err != nil {
			return err
		}
		answer, err := json.Marshal(found)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(verdicts, "%s\n", answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// What an API server keeps of a definition.
type server struct {
	structural *schema.Structural
	strategy   interface {
		rest.RESTCreateStrategy
		rest.RESTUpdateStrategy
	}
	columns []apiextensionsv1.CustomResourceColumnDefinition
	table   rest.TableConvertor
}

func newServer(text []byte) (*server, error) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	var given apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &given); err != nil {
		return nil, err
	}
	scheme.Default(&given)
	var definition apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&given, &definition, nil); err != nil {
		return nil, err
	}
	// What the storage would set.
	definition.Status.StoredVersions = []string{given.Spec.Versions[0].Name}
	if found := definitions.ValidateCustomResourceDefinition(context.Background(), &definition); len(found) > 0 {
		return nil, found.ToAggregate()
	}

	version := given.Spec.Versions[0]
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
		version.Schema, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	ofObject, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	var status *apiextensions.CustomResourceSubresourceStatus
	var ofStatus validation.SchemaValidator
	if version.Subresources != nil && version.Subresources.Status != nil {
		status = &apiextensions.CustomResourceSubresourceStatus{}
		if part, ok := internal.OpenAPIV3Schema.Properties["status"]; ok {
			if ofStatus, _, err = validation.NewSchemaValidator(&part); err != nil {
				return nil, err
			}
		}
	}
	table, err := tableconvertor.New(version.AdditionalPrinterColumns)
	if err != nil {
		return nil, err
	}
	kind := groups.GroupVersionKind{Group: given.Spec.Group, Version: version.Name, Kind: given.Spec.Names.Kind}
	isNamespaced := given.Spec.Scope == apiextensionsv1.NamespaceScoped
	strategy := customresource.NewStrategy(
		scheme, isNamespaced, kind, ofObject, ofStatus, structural, status, nil, version.SelectableFields)
	return &server{structural, strategy, version.AdditionalPrinterColumns, table}, nil
}

// Does with what was sent what happens to it before it is validated, and says what was dropped.
func (s *server) decode(object map[string]any) (*unstructured.Unstructured, []string, error) {
	unknown := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	dropped := pruning.PruneWithOptions(object, s.structural, true, unknown)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	if err, more := objectmeta.CoerceWithOptions(nil, object, s.structural, true,
		objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); err != nil {
		return nil, nil, err
	} else {
		dropped = append(dropped, more...)
	}
	return &unstructured.Unstructured{Object: object}, dropped, nil
}

func (s *server) judge(given, before map[string]any) (*verdict, error) {
	ctx := context.Background()
	found := verdict{Errors: []string{}, Dropped: []string{}}
	object, dropped, err := s.decode(given)
	if err != nil {
		found.Errors = append(found.Errors, err.Error())
		return &found, nil
	}
	found.Dropped = append(found.Dropped, dropped...)
	var mistakes field.ErrorList
	if before == nil {
		s.strategy.PrepareForCreate(ctx, object)
		mistakes = s.strategy.Validate(ctx, object)
	} else {
		old, _, err := s.decode(before)
		if err != nil {
			return nil, err
		}
		old.SetResourceVersion("1")
		object.SetResourceVersion("1")
		s.strategy.PrepareForUpdate(ctx, object, old)
		mistakes = s.strategy.ValidateUpdate(ctx, object, old)
	}
	for _, mistake := range mistakes {
		found.Errors = append(found.Errors, mistake.Error())
	}
	found.Stored = object.Object
	table, err := s.table.ConvertToTable(ctx, object, &metav1.TableOptions{})
	if err != nil {
		return nil, err
	}
	found.Columns = map[string]any{}
	for index, column := range s.columns {
		// Before those of the definition stands the name.
		found.Columns[column.Name] = table.Rows[0].Cells[index+1]
	}
	return &found, nil
}
