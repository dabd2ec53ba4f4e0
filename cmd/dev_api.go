package cmd

import (
	"context"
	"fmt"
	"net"

	"github.com/quorate/quorate/scheduler/replica"
	"github.com/quorate/quorate/scheduler/web"
)

// devListen is where dev serves the API unless the configuration says otherwise.
const devListen = "127.0.0.1:8080"

// A devAPI is the API of the replicas of one process: one of them serves it.
type devAPI struct {
	listener net.Listener
	http     replica.HTTPConfig // of the replicas
	text     string             // where it is, and who may act
}

// newDevAPI listens as the configuration has it, else on devListen, or on any port
// if that is taken. This machine may read without a user. Where no users are configured, one is made up: nobody acts
// without one.
func newDevAPI(ctx context.Context, cfg replica.HTTPConfig) (*devAPI, error) {
	var config net.ListenConfig
	addr := cfg.Listen
	if addr == "" {
		addr = devListen
	}
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil && cfg.Listen == "" {
		listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("http.listen: cannot listen on %s: %w; choose a free port, or 0 for any", addr, err)
	}
	if cfg.Anonymous != "all" {
		cfg.Anonymous = "loopback"
	}
	cfg.AnonymousMetrics = cfg.Anonymous
	cfg.Listen, cfg.ProbesListen, cfg.TLS = "", "", replica.ServerTLSConfig{}
	d := &devAPI{listener: listener, http: cfg}
	d.text = fmt.Sprintf("Dashboard: http://%[1]s%[2]s/. API: http://%[1]s%[2]s/api/v1/openapi.json describes it.", listener.Addr(), cfg.BasePath)
	d.text += fmt.Sprintf("\nhttp.anonymous is %s here: without a user one reads from %s.", cfg.Anonymous,
		map[replica.AnonymousReaders]string{"loopback": "this machine", "all": "anywhere"}[cfg.Anonymous])
	if len(cfg.Users) == 0 && cfg.UsersFile == "" {
		token, stored := web.NewToken()
		d.http.Users = map[string]replica.UserConfig{"dev": {Role: "admin", Token: stored}}
		d.text += fmt.Sprintf("\nWho acts there is user dev, with this password or bearer token: %s", token)
	}
	return d, nil
}

// close ends what no replica has taken over.
func (d *devAPI) close() { _ = d.listener.Close() } // the replica may have
