package ci

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Dependabot follows every module, every npm package and the workflows, in groups.
func TestDependabot(t *testing.T) {
	t.Parallel()
	var config struct {
		Version int
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
			Schedule    struct{ Interval string }
			Groups      map[string]struct{ Patterns []string }
			Ignore      []struct {
				Name     string `yaml:"dependency-name"`
				Versions []string
			}
		}
	}
	decode(t, "../../.github/dependabot.yml", &config)
	want := map[string][]string{"gomod": foldersWith(t, "go.mod"), "npm": foldersWith(t, "package-lock.json"), "github-actions": {"/"}}
	for _, u := range config.Updates {
		folders := u.Directories
		if u.Directory != "" {
			folders = append(folders, u.Directory)
		}
		if slices.Sort(folders); !slices.Equal(folders, want[u.Ecosystem]) {
			t.Errorf("%s: .github/dependabot.yml lists the folders %q, want %q", u.Ecosystem, folders, want[u.Ecosystem])
		}
		delete(want, u.Ecosystem)
		if u.Schedule.Interval != "weekly" || len(u.Groups) != 1 {
			t.Errorf("%s: %+v, want one group a week", u.Ecosystem, u)
		}
		for name, group := range u.Groups {
			if !slices.Equal(group.Patterns, []string{"*"}) {
				t.Errorf("%s: group %s has the patterns %q", u.Ecosystem, name, group.Patterns)
			}
		}
	}
	if config.Version != 2 || len(want) > 0 {
		t.Errorf("version %d; nothing follows %v", config.Version, want)
	}
}

// foldersWith returns the folders of the repository with a file of that name, as /dev/interop.
func foldersWith(t *testing.T, file string) (all []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "." && name != "docs/.vitepress") {
			return fs.SkipDir
		}
		if d.Name() == file {
			all = append(all, path.Join("/", path.Dir(name)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// The forms for issues have what GitHub wants of them: see its "Syntax for issue forms".
func TestIssueForms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(files) != 3 {
		t.Fatalf("found %q: %v", files, err)
	}
	for _, file := range files {
		if filepath.Base(file) == "config.yml" {
			var config struct {
				Blank bool                                `yaml:"blank_issues_enabled"`
				Links []struct{ Name, URL, About string } `yaml:"contact_links"`
			}
			decode(t, file, &config)
			for _, link := range config.Links {
				local, is := strings.CutPrefix(link.URL, "https://github.com/quorate/quorate/blob/main/")
				if _, err := os.Stat("../../" + local); is && err != nil || link.Name == "" || link.About == "" {
					t.Errorf("the link %+v: %v", link, err)
				}
			}
			continue
		}
		checkForm(t, file)
	}
}

func checkForm(t *testing.T, file string) {
	t.Helper()
	var form struct {
		Name, Description string
		Labels            []string
		Body              []struct {
			Type, ID   string
			Attributes struct {
				Label, Description, Value, Render string
				Options                           []string
			}
			Validations struct{ Required bool }
		}
	}
	decode(t, file, &form)
	ids, required := map[string]bool{}, 0
	for _, part := range form.Body {
		a := part.Attributes
		ok := part.ID != "" && !ids[part.ID] && a.Label != "" && len(a.Options) == 0
		switch part.Type {
		case "markdown":
			ok = part.ID == "" && a.Value != ""
		case "dropdown":
			ok = a.Label != "" && len(a.Options) > 1
		case "textarea", "input":
		default:
			ok = false
		}
		if !ok {
			t.Errorf("%s: a part that GitHub refuses: %+v", file, part)
		}
		ids[part.ID] = true
		if part.Validations.Required {
			required++
		}
	}
	if form.Name == "" || form.Description == "" || required == 0 {
		t.Errorf("%s: it lacks a name or a description, or asks for nothing", file)
	}
}
