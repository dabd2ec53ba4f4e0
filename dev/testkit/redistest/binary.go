package redistest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
)

// binaryEnv names the server's program, so that the tests can be run on another
// than redis-server, such as valkey-server.
const binaryEnv = "QUORATE_REDIS_SERVER"

// binary returns the path of the server's program.
func binary() (string, error) {
	name := cmp.Or(os.Getenv(binaryEnv), "redis-server")
	bin, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("this test needs %s on the PATH: apt-get install redis-server, or name another server in %s", name, binaryEnv)
	}
	return bin, nil
}
