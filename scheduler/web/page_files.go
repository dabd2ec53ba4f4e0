package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"
)

//go:embed static
var staticFiles embed.FS

// A file is one that pages need: the same for everybody, so it takes no login.
type file struct {
	text []byte
	tag  string
}

func readFiles() (map[string]file, error) {
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	files := map[string]file{}
	for _, e := range entries {
		text, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
		sum := sha256.Sum256(text)
		files[e.Name()] = file{text, hex.EncodeToString(sum[:8])}
	}
	return files, nil
}

func (p *pages) serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	f, ok := p.files[name]
	if !ok {
		p.refuse(w, p.visit(r, sheet{title: "Not found"}), newProblem(http.StatusNotFound, "not_found", "there is no file "+name))
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+f.tag+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.text))
}

// themeCookie keeps whether pages are dark or light; without it they are as the
// browser likes.
const themeCookie = "quorate_theme"

// serveTheme chooses dark or light, and goes back.
func (p *pages) serveTheme(w http.ResponseWriter, r *http.Request) {
	if p.origins.Check(r) != nil {
		p.refuse(w, p.visit(r, sheet{title: "Refused"}), forbidden("the request comes from a page of another origin"))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	cookie := &http.Cookie{Name: themeCookie, Path: p.cfg.BasePath + "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil}
	switch to := r.PostFormValue("to"); to {
	case "dark", "light":
		cookie.Value = to
	default:
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, p.ownPath(r.PostFormValue("back")), http.StatusSeeOther)
}

// serveLogin makes a browser ask for name and password, and then goes back to the
// page one came from: who may read without them is never asked elsewhere.
func (p *pages) serveLogin(w http.ResponseWriter, r *http.Request) {
	v := p.visit(r, sheet{title: "Log in"})
	id, wrong := p.identify(r)
	switch {
	case wrong != nil:
		p.refuse(w, v, wrong)
	case id.Name == "":
		p.refuse(w, v, unauthorized("no name and password came"))
	default:
		http.Redirect(w, r, p.ownPath(r.URL.Query().Get("back")), http.StatusSeeOther)
	}
}

// ownPath is a path of this dashboard, its first page if text is none.
func (s *Server) ownPath(text string) string {
	base := s.cfg.BasePath + "/"
	before, _, _ := strings.Cut(text, "?")
	odd := func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }
	if !strings.HasPrefix(text, base) || strings.ContainsFunc(text, odd) || strings.Contains(before, "//") || strings.Contains(before+"/", "/../") {
		return base
	}
	return text
}

func themeOf(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "dark" || c.Value == "light") {
		return c.Value
	}
	return "auto"
}
