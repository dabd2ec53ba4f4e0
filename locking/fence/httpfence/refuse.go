package httpfence

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/quorate/quorate/locking/fence"
)

// Refuse answers with 412 and the problem if err is a *fence.StaleError, and
// tells whether it was. A handler that checks inside its write calls it before
// it writes anything.
func Refuse(w http.ResponseWriter, err error) bool {
	stale, ok := errors.AsType[*fence.StaleError](err)
	if ok {
		write(w, http.StatusPreconditionFailed, stale.Problem())
	}
	return ok
}

// refuse answers that a request could not be judged.
func refuse(w http.ResponseWriter, status int, err error) {
	body, _ := json.Marshal(map[string]any{ // these always encode
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": err.Error(),
	})
	write(w, status, body)
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", fence.ProblemMedia)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
