package gate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/scheduler/identity"
)

// A session is a cookie that a browser sends in place of name and password. It is signed, and stored nowhere: each
// replica with the same Config.SessionKey admits it. The signature covers what is stored of the user's secrets, so
// with the user, or with an old secret, all their sessions end.

// SessionCookie is the name of the cookie.
const SessionCookie = "quorate_session"

const (
	// sessionIdle is how long a session lasts without a request, and sessionMost how long it lasts at most.
	sessionIdle = 12 * time.Hour
	sessionMost = 7 * 24 * time.Hour
	// sessionRenew is the least age at which a request renews a session.
	sessionRenew = 5 * time.Minute
	// sessionAhead is how far the clock of another replica may be ahead.
	sessionAhead = 5 * time.Minute
)

// MinSessionKey is the least number of bytes of a Config.SessionKey.
const MinSessionKey = 32

// encoding has one text for each value.
var encoding = base64.RawURLEncoding.Strict()

// A session says whose it is, and when it began and was renewed.
type session struct {
	name           string
	begun, renewed time.Time
}

// LogIn checks the name and the password, or token, of a form. It returns the value of a cookie for the user, and logs
// that a session begins.
func (g *Gate) LogIn(r *http.Request, name, password string) (cookie string, wrong *problem.Problem) {
	id, wrong := g.loginByName(r, identity.Identity{Address: g.Address(r)}, name, password)
	if wrong != nil {
		return "", wrong
	}
	g.cfg.Logger.Info("a session begins", "user", id.Name, "address", id.Address)
	now := time.Now()
	return g.sign(session{id.Name, now, now}), nil
}

// Renewed is the cookie of the request's session, made anew if it is time for that; else "".
func (g *Gate) Renewed(r *http.Request) string {
	s, _ := g.sessionOf(r, time.Now())
	if now := time.Now(); g.HasSession(r) && now.Sub(s.renewed) >= sessionRenew {
		s.renewed = now
		return g.sign(s)
	}
	return ""
}

// HasSession reports whether a session names the user of the request.
func (g *Gate) HasSession(r *http.Request) bool {
	_, ok := g.sessionOf(r, time.Now())
	return ok && r.Header.Get("Authorization") == "" && g.proxyUser(r) == "" && g.cfg.Identify == nil
}

// fromForm reports whether a browser asks, whose user logs in by the form.
func (g *Gate) fromForm(r *http.Request) bool {
	_, err := r.Cookie(SessionCookie) // an ended one, too
	return g.OffersSessions() && r.Header.Get("Authorization") == "" && (err == nil || r.Header.Get("Sec-Fetch-Site") != "")
}

// OffersSessions reports whether there is a key for sessions.
func (g *Gate) OffersSessions() bool { return len(g.cfg.SessionKey) > 0 }

// sessionOf returns the session of a request, unless it has ended.
func (g *Gate) sessionOf(r *http.Request, now time.Time) (s session, ok bool) {
	c, err := r.Cookie(SessionCookie)
	if err != nil || !g.OffersSessions() {
		return s, false
	}
	text, sum, _ := strings.Cut(c.Value, ".")
	raw, err := encoding.DecodeString(text)
	if err != nil || len(raw) < 16 || len(raw) > 16+MaxName {
		return s, false
	}
	s = session{string(raw[16:]), time.Unix(int64(binary.BigEndian.Uint64(raw)), 0), time.Unix(int64(binary.BigEndian.Uint64(raw[8:])), 0)}
	given, err := encoding.DecodeString(sum)
	if _, known := g.users.Load().byName[s.name]; err != nil || !known || !hmac.Equal(given, g.sum(s)) {
		return s, false
	}
	return s, !s.renewed.After(now.Add(sessionAhead)) && now.Sub(s.renewed) < sessionIdle && now.Sub(s.begun) < sessionMost
}

// sign writes a session as the value of a cookie.
func (g *Gate) sign(s session) string {
	return encoding.EncodeToString(s.head()) + "." + encoding.EncodeToString(g.sum(s))
}

func (s session) head() []byte {
	head := binary.BigEndian.AppendUint64(nil, uint64(s.begun.Unix()))
	return append(binary.BigEndian.AppendUint64(head, uint64(s.renewed.Unix())), s.name...)
}

// sum is the signature of a session.
func (g *Gate) sum(s session) []byte {
	user := g.users.Load().byName[s.name]
	mac := hmac.New(sha256.New, g.cfg.SessionKey)
	for _, part := range [][]byte{[]byte(SessionCookie), s.head(), []byte(user.Password), []byte(user.Token)} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// Secure reports whether the client has sent the request by TLS, to this replica or to a trusted proxy.
func (g *Gate) Secure(r *http.Request) bool {
	return r.TLS != nil || g.trusted(peerOf(r)) && r.Header.Get("X-Forwarded-Proto") == "https"
}
