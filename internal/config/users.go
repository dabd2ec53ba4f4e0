package config

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/scheduler/identity"
)

// Users returns who may log in, references resolved, those of http.users_file
// included.
func (c *Config) Users() ([]identity.User, error) {
	all := maps.Clone(c.HTTP.Users)
	if c.HTTP.UsersFile != "" {
		more, err := readUsers(c.HTTP.UsersFile)
		if err != nil {
			return nil, fmt.Errorf("http.users_file: %s: %w", c.HTTP.UsersFile, err)
		}
		for name, user := range more {
			if _, twice := all[name]; twice {
				return nil, fmt.Errorf("http.users_file: %s: user %s is under http.users, too; remove one", c.HTTP.UsersFile, name)
			}
			if all == nil {
				all = map[string]UserConfig{}
			}
			all[name] = user
		}
	}
	var list []identity.User
	for _, name := range slices.Sorted(maps.Keys(all)) {
		user, err := userOf(name, all[name])
		if err != nil {
			return nil, fmt.Errorf("http: user %s: %w", name, err)
		}
		list = append(list, user)
	}
	return list, nil
}

// userOf resolves the references of a user.
func userOf(name string, c UserConfig) (identity.User, error) {
	user := identity.User{Name: name, Role: identity.Role(c.Role)}
	if user.Role == "" {
		user.Role = identity.Viewer
	}
	var err error
	if user.Password, err = expandSetting(c.Password); err != nil {
		return user, err
	}
	if user.Token, err = expandSetting(c.Token); err != nil {
		return user, err
	}
	return user, user.Validate()
}

// readUsers reads a file of users, strictly.
func readUsers(file string) (map[string]UserConfig, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var users map[string]UserConfig
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&users); err != nil && len(bytes.TrimSpace(text)) > 0 {
		return nil, fmt.Errorf("%w; write name: {role: viewer, token: …}", err)
	}
	return users, nil
}
