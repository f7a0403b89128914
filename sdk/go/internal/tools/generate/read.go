package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// source is what the types are made from.
type source struct {
	// schemas has the schemas of all documents, by names such as io.k8s.api.batch.v1.Job.
	schemas map[string]*schema
	// encoding says how Go encodes the fields of these types, by the same names.
	encoding map[string]encoding
}

// schema is the part of an OpenAPI schema from which types are made.
type schema struct {
	Description          string             `json:"description"`
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Ref                  string             `json:"$ref"`
	AllOf                []schema           `json:"allOf"`
	Enum                 []string           `json:"enum"`
	Items                *schema            `json:"items"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Properties           map[string]*schema `json:"properties"`
	Kinds                []struct {
		Group, Version, Kind string
	} `json:"x-kubernetes-group-version-kind"`
}

// encoding says which fields of a type of k8s.io/api are no pointers: those that are always encoded,
// with their zero value, and those of which Go omits the zero value.
type encoding struct {
	Always   map[string]any `json:"always"`
	OmitZero []string       `json:"omitZero"`
}

// target returns the name of the schema that this one refers to, or "".
func (s *schema) target() string {
	ref := s.Ref
	if len(s.AllOf) > 0 {
		ref = s.AllOf[0].Ref
	}
	return strings.TrimPrefix(ref, "#/components/schemas/")
}

func read(folder string) (*source, error) {
	source := &source{schemas: map[string]*schema{}}
	encodings, err := os.ReadFile(filepath.Join(folder, "types.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(encodings, &source.encoding); err != nil {
		return nil, fmt.Errorf("types.json: %w", err)
	}
	documents, err := filepath.Glob(filepath.Join(folder, "openapi", "*.json.gz"))
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("%s contains no documents openapi/*.json.gz", folder)
	}
	for _, document := range documents {
		if err := source.add(document); err != nil {
			return nil, fmt.Errorf("%s: %w", document, err)
		}
	}
	return source, nil
}

// add reads the schemas of a document.
func (s *source) add(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		return err
	}
	var document struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	for name, schema := range document.Components.Schemas {
		s.schemas[name] = schema
	}
	return nil
}
