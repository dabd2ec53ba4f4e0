package cmd

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/quorate/quorate/cmd/internal/cmdtest"
	"github.com/quorate/quorate/dev/reference"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/api"
)

// TestReference holds docs/reference to the program: make reference writes the pages.
func TestReference(t *testing.T) {
	t.Parallel()
	commands, err := reference.Commands(newRoot(&cli{App: App{Name: "quorate"}}))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	configuration, err := reference.Configuration(schema, read(t, "../config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	document := openAPI(t)
	routes, err := reference.API(document, api.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	cmdtest.Golden(t, "../../docs/reference/cli.md", commands)
	cmdtest.Golden(t, "../../docs/reference/config.md", configuration)
	cmdtest.Golden(t, "../../docs/reference/api.md", routes)
	cmdtest.Golden(t, "../../docs/reference/openapi.json", string(document)+"\n")
}

// openAPI returns the document that a replica serves.
func openAPI(t *testing.T) []byte {
	t.Helper()
	server, err := api.New(api.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	mux, answer := http.NewServeMux(), httptest.NewRecorder()
	server.Route(mux)
	mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, api.Prefix+"/openapi.json", nil))
	return answer.Body.Bytes()
}
