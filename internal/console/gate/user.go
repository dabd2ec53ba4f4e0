package gate

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/quorate/quorate/scheduler/identity"
)

// A Proxy may authenticate users.
type Proxy struct {
	// Addresses of the trusted proxies.
	Addresses []netip.Prefix
	// UserHeader is the header with the user's name.
	UserHeader string
	// Role of users who are not in Config.Users. Empty: none.
	Role identity.Role
}

// A User may log in.
type User struct {
	Name string
	Role identity.Role
	// Password and Token are stored forms (HashPassword, NewToken); empty: none.
	Password, Token string
}

// MaxName bounds the name of a user, in bytes.
const MaxName = 100

// Validate returns the mistakes in a user.
func (u User) Validate() error {
	var errs []error
	if u.Name == "" || len(u.Name) > MaxName || strings.ContainsAny(u.Name, ": \t\r\n") {
		errs = append(errs, errors.New("write a name of 1 to 100 characters, without spaces and colons"))
	}
	errs = append(errs, u.Role.Validate())
	if u.Password != "" {
		errs = append(errs, about("password", ValidatePassword(u.Password)))
	}
	if u.Token != "" {
		errs = append(errs, about("token", ValidateToken(u.Token)))
	}
	return errors.Join(errs...)
}

func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Stored forms of secrets. Passwords need a slow hash against guessing; random tokens do not:
//
//	pbkdf2-sha256$ITERATIONS$SALT$KEY   salt and key in base64 without padding
//	sha256$HEX
const (
	passwordForm = "pbkdf2-sha256"
	tokenForm    = "sha256"
)

// Bounds of a stored password.
const (
	iterations    = 600_000
	minIterations = 100_000
	maxIterations = 10_000_000
	saltBytes     = 16
	keyBytes      = 32
)

// MinPassword is the least number of characters of a password.
const MinPassword = 12

// HashPassword returns the stored form of a password.
func HashPassword(password string) (string, error) {
	if n := len([]rune(password)); n < MinPassword {
		return "", fmt.Errorf("the password has %d characters; choose one with %d or more", n, MinPassword)
	}
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	return hashPassword(password, salt, iterations)
}

func hashPassword(password string, salt []byte, n int) (string, error) {
	key, err := pbkdf2.Key(sha256.New, password, salt, n, keyBytes)
	if err != nil {
		return "", fmt.Errorf("hashing a password: %w", err)
	}
	b64 := base64.RawStdEncoding
	return strings.Join([]string{passwordForm, strconv.Itoa(n), b64.EncodeToString(salt), b64.EncodeToString(key)}, "$"), nil
}

// NewToken returns a random token and its stored form.
func NewToken() (token, stored string) {
	token = "qt_" + rand.Text()
	return token, HashToken(token)
}

// HashToken returns the stored form of a token.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return tokenForm + "$" + hex.EncodeToString(sum[:])
}

// errSecret is the error for an invalid stored form.
var errSecret = errors.New("is not a hash from `quorate users password` or `quorate users token`; secrets are stored only as hashes")

// ValidatePassword returns an error unless stored has the form of HashPassword.
func ValidatePassword(stored string) error {
	_, err := parsePassword(stored)
	return err
}

// ValidateToken returns an error unless stored has the form of NewToken.
func ValidateToken(stored string) error {
	sum, ok := strings.CutPrefix(stored, tokenForm+"$")
	if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size {
		return errSecret
	}
	return nil
}

// A password is a parsed stored form.
type password struct {
	salt, key []byte
	n         int
}

func parsePassword(stored string) (password, error) {
	parts := strings.Split(stored, "$")
	if len(parts) != 4 || parts[0] != passwordForm {
		return password{}, errSecret
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < minIterations || n > maxIterations {
		return password{}, errSecret
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[2])
	key, keyErr := base64.RawStdEncoding.DecodeString(parts[3])
	if saltErr != nil || keyErr != nil || len(salt) < 8 || len(key) != keyBytes {
		return password{}, errSecret
	}
	return password{salt, key, n}, nil
}

// HasPassword reports whether given is the user's password. It takes as long for a user
// without one, so that the time does not reveal names.
func (u User) HasPassword(given string) bool {
	p, err := parsePassword(u.Password)
	if err != nil {
		p = password{salt: make([]byte, saltBytes), key: make([]byte, keyBytes), n: iterations}
	}
	return p.is(given) && err == nil
}

// is compares in constant time.
func (p password) is(given string) bool {
	key, err := pbkdf2.Key(sha256.New, given, p.salt, p.n, keyBytes)
	return err == nil && subtle.ConstantTimeCompare(key, p.key) == 1
}
