package mysql

import (
	"strings"
	"testing"

	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// The printed rights are for a user that exists: a mistyped name makes none, who would need no password.
func TestGrantsMakeNoUser(t *testing.T) {
	t.Parallel()
	db := mysqltest.Start(t).DB(t)
	if _, err := db.ExecContext(t.Context(), Script("billing", 0)); err != nil {
		t.Fatal(err)
	}
	_, err := db.ExecContext(t.Context(), Grants("billing", "nobody"))
	if err == nil || !strings.Contains(err.Error(), "nobody") && !strings.Contains(err.Error(), "1133") {
		t.Errorf("rights for a user that does not exist: %v", err)
	}
	var users int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM mysql.user WHERE user = 'nobody'").Scan(&users); err != nil || users != 0 {
		t.Errorf("they have made %d users (%v)", users, err)
	}
}
