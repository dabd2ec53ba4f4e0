package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/problem"
)

//go:embed static
var staticFiles embed.FS

// A file is a static file. It needs no login.
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

// Static is the address of a static file, which changes with its content.
func (p *Pages) Static(name string) string {
	return p.BasePath + "/static/" + name + "?v=" + p.files[name].tag
}

func (p *Pages) serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	f, ok := p.files[name]
	if !ok {
		p.refuse(w, p.visit(r, sheet{title: "Not found"}), problem.New(http.StatusNotFound, "not_found", "there is no file "+name))
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+f.tag+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.text))
}

// themeCookie stores the dark or light theme; without it the browser's preference applies.
const themeCookie = "quorate_theme"

// serveTheme sets the theme and redirects back.
func (p *Pages) serveTheme(w http.ResponseWriter, r *http.Request) {
	if p.gate.Origin(r) != nil {
		p.refuse(w, p.visit(r, sheet{title: "Refused"}), problem.Forbidden("the request comes from a page of another origin"))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, api.MaxBody)
	cookie := &http.Cookie{Name: themeCookie, Path: p.BasePath + "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil}
	switch to := r.PostFormValue("to"); to {
	case "dark", "light":
		cookie.Value = to
	default:
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, p.ownPath(r.PostFormValue("back")), http.StatusSeeOther)
}

// serveLogin makes the browser ask for name and password, and redirects back. Other pages
// do not ask users who may read anonymously.
func (p *Pages) serveLogin(w http.ResponseWriter, r *http.Request) {
	v := p.visit(r, sheet{title: "Log in"})
	id, wrong := p.gate.Identify(r)
	switch {
	case wrong != nil:
		p.refuse(w, v, wrong)
	case id.Name == "":
		p.refuse(w, v, problem.Unauthorized("the request has no name and password"))
	default:
		http.Redirect(w, r, p.ownPath(r.URL.Query().Get("back")), http.StatusSeeOther)
	}
}

// ownPath returns text if it is a path of this dashboard, else its first page.
func (p *Pages) ownPath(text string) string {
	base := p.BasePath + "/"
	before, _, _ := strings.Cut(text, "?")
	odd := func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }
	if !strings.HasPrefix(text, base) || strings.ContainsFunc(text, odd) || strings.Contains(before, "//") || strings.Contains(before+"/", "/../") {
		return base
	}
	return text
}

// Theme is auto, dark or light.
func (v *visit) Theme() string {
	if c, err := v.r.Cookie(themeCookie); err == nil && (c.Value == "dark" || c.Value == "light") {
		return c.Value
	}
	return "auto"
}
