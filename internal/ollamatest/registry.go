package ollamatest

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Registry serves the models of s as those of the namespace lab, to be pulled by
// another server: name is HOST:PORT/lab/MODEL. env is what that server needs to
// trust it.
func (s *Server) Registry(t testing.TB) (host, env string) {
	t.Helper()
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("the server takes its certificates from the system here")
	}
	models := filepath.Join(filepath.Dir(s.log), "models")
	r := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2/lab/"), "/") // MODEL, manifests or blobs, TAG or digest
		switch {
		case len(part) == 3 && part[1] == "manifests":
			http.ServeFile(w, r, filepath.Join(models, "manifests", "registry.ollama.ai", "library", part[0], part[2]))
		case len(part) == 3 && part[1] == "blobs":
			http.ServeFile(w, r, filepath.Join(models, "blobs", strings.Replace(part[2], ":", "-", 1)))
		default:
			http.NotFound(w, r)
		}
	}))
	r.StartTLS()
	t.Cleanup(r.Close)
	file := filepath.Join(t.TempDir(), "registry.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return r.Listener.Addr().String(), "SSL_CERT_FILE=" + file
}
