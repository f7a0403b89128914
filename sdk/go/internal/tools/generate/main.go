// Generate writes the types of the package k8s, from the OpenAPI documents of Kubernetes that the
// in-memory cluster of this repository has.
//
//	openapi/*.json.gz ─▶ read.go ─▶ schemas ─▶ model.go ─▶ types ─▶ render.go ─▶ k8s/*.go
//	types.json ────────▶ (which fields are pointers in k8s.io/api)
//
// Run it with `go generate ./k8s`. A test fails if the files are not up to date.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER-OF-DOCUMENTS FOLDER-OF-TYPES")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write(documents, folder string) error {
	files, err := generate(documents)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the generated files by name.
func generate(documents string) (map[string][]byte, error) {
	source, err := read(documents)
	if err != nil {
		return nil, err
	}
	modules := modulesOf(source, selection)
	kinds, err := renderKinds(modules)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"kinds_test.go": kinds}
	for name, module := range modules {
		text, err := render(name, module)
		if err != nil {
			return nil, fmt.Errorf("the types of %s: %w", name, err)
		}
		files[name+".go"] = text
	}
	return files, nil
}
